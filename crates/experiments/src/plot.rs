//! Plots as SVG text. The fonts are the viewer's own: nothing is read from the machine.

use plotters::coord::Shift;
use plotters::prelude::*;
use std::ops::Range;

const SIZE: (u32, u32) = (900, 420);
const LEGEND_WIDTH: u32 = 200;

/// The colour of each set of rules, the same in all figures.
pub(crate) const THESIS: RGBColor = RGBColor(200, 80, 20);
pub(crate) const OURS: RGBColor = RGBColor(20, 90, 170);
pub(crate) const THIRD: RGBColor = RGBColor(90, 140, 60);
pub(crate) const ADAPTIVE: RGBColor = RGBColor(130, 30, 150);
const FAINT: RGBColor = RGBColor(140, 140, 140);

/// One line of a chart.
pub(crate) struct Line {
    pub name: String,
    pub colour: RGBColor,
    pub points: Vec<(f64, f64)>,
    pub style: LineStyle,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum LineStyle {
    /// A line with a dot per point.
    Dotted,
    /// A line alone.
    Plain,
    /// A thin line without an entry in the legend.
    Edge,
    /// Dots without a line.
    Points,
}

/// A chart before it is drawn.
pub(crate) struct Chart {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    /// Values of x to be marked by a vertical line with its meaning.
    pub marks: Vec<(f64, String)>,
    /// A value of y to be marked by a horizontal line.
    pub limit: Option<f64>,
    /// The largest y that must be visible.
    pub y_least_top: f64,
    pub lines: Vec<Line>,
}

/// How values of x lie along the axis.
#[derive(Clone, Copy)]
enum Across {
    /// Equal differences, equal distances.
    Even,
    /// Each step to the right doubles the value, from this one on.
    Doubling { from: f64 },
}

impl Across {
    fn place(self, value: f64) -> f64 {
        match self {
            Self::Even => value,
            Self::Doubling { from } => (value / from).log2(),
        }
    }

    /// What stands below the axis at this place.
    fn label(self, place: f64) -> String {
        match self {
            Self::Even => format!("{}", (place * 100.0).round() / 100.0),
            Self::Doubling { from } => {
                format!("{}", (from * place.exp2() * 1000.0).round() / 1000.0)
            }
        }
    }

    /// At most so many labels: between doublings there are none.
    fn labels(self) -> usize {
        match self {
            // What plotters takes if it is not told.
            Self::Even => 11,
            Self::Doubling { .. } => 8,
        }
    }
}

impl Chart {
    /// Draws it.
    pub fn svg(&self) -> String {
        self.drawn(Across::Even)
    }

    /// Draws it with an x axis on which each step doubles the value, for sizes that grow so; all must be above zero.
    pub fn svg_doubling(&self, from: f64) -> String {
        self.drawn(Across::Doubling { from })
    }

    fn drawn(&self, across: Across) -> String {
        let mut text = String::new();
        {
            let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
            self.draw(&root, across)
                .expect("drawing into memory cannot fail");
            root.present().expect("drawing into memory cannot fail");
        }
        text
    }

    fn draw<DB: DrawingBackend>(&self, root: &DrawingArea<DB, Shift>, across: Across) -> Drawn<DB> {
        root.fill(&WHITE)?;
        let (field, margin) = root.split_horizontally(SIZE.0 - LEGEND_WIDTH);
        let (xs, ys) = (self.x_range(across), self.y_range());
        let mut chart = ChartBuilder::on(&field)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(54)
            .build_cartesian_2d(xs.clone(), ys.clone())?;
        chart
            .configure_mesh()
            .x_desc(&self.x_label)
            .y_desc(&self.y_label)
            .x_labels(across.labels())
            .x_label_formatter(&|place| across.label(*place))
            .y_label_formatter(&|value| format!("{}", (value * 100.0).round() / 100.0))
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.08))
            .label_style(("sans-serif", 13))
            .axis_desc_style(("sans-serif", 14))
            .draw()?;
        if let Some(limit) = self.limit {
            chart.draw_series([PathElement::new(
                vec![(xs.start, limit), (xs.end, limit)],
                BLACK.mix(0.5),
            )])?;
        }
        for (index, (x, _)) in self.marks.iter().enumerate() {
            let x = across.place(*x);
            let ends = vec![(x, ys.start), (x, ys.end)];
            let (dash, gap) = dashes(index);
            chart.draw_series(DashedLineSeries::new(
                ends,
                dash,
                gap,
                FAINT.stroke_width(1),
            ))?;
        }
        for line in &self.lines {
            let colour = if line.style == LineStyle::Edge {
                line.colour.mix(0.45)
            } else {
                line.colour.to_rgba()
            };
            let width = if line.style == LineStyle::Edge { 1 } else { 2 };
            let points = line.points.iter().map(|(x, y)| (across.place(*x), *y));
            if line.style != LineStyle::Points {
                chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(width)))?;
            }
            if matches!(line.style, LineStyle::Dotted | LineStyle::Points) {
                chart.draw_series(points.map(|point| Circle::new(point, 2, colour.filled())))?;
            }
        }
        self.draw_legend(&margin)
    }

    /// Beside the field, where it hides nothing.
    fn draw_legend<DB: DrawingBackend>(&self, margin: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let lines = self
            .lines
            .iter()
            .filter(|line| line.style != LineStyle::Edge);
        let lines = lines.map(|line| (line.name.as_str(), line.colour.to_rgba(), None));
        let marks = self.marks.iter().enumerate();
        let marks = marks
            .map(|(index, (_, meaning))| (meaning.as_str(), FAINT.to_rgba(), Some(dashes(index))));
        let limit = self.limit.map(|_| ("one step", BLACK.mix(0.5), None));
        let entries = lines
            .chain(marks)
            .chain(limit)
            .filter(|(name, ..)| !name.is_empty());
        for (row, (name, colour, dashed)) in entries.enumerate() {
            let y = 52 + 20 * row as i32;
            let width = if dashed.is_some() || name == "one step" {
                1
            } else {
                2
            };
            let (dash, gap) = dashed.unwrap_or((20, 0));
            for from in (0..20).step_by((dash + gap) as usize) {
                let ends = [(from, y), ((from + dash as i32).min(20), y)];
                margin.draw(&PathElement::new(ends, colour.stroke_width(width)))?;
            }
            margin.draw(&Text::new(
                name.to_string(),
                (26, y - 7),
                ("sans-serif", 13),
            ))?;
        }
        Ok(())
    }

    fn x_range(&self, across: Across) -> Range<f64> {
        let values = self
            .lines
            .iter()
            .flat_map(|line| line.points.iter().map(|point| across.place(point.0)));
        let (least, most) = ends(values);
        if most > least {
            least..most
        } else {
            least..least + 1.0
        }
    }

    fn y_range(&self) -> Range<f64> {
        let values = self
            .lines
            .iter()
            .flat_map(|line| line.points.iter().map(|point| point.1));
        let (least, most) = ends(values.chain(self.limit));
        let top = most.max(self.y_least_top);
        least.min(0.0)..top + 0.05 * (top - least.min(0.0))
    }
}

/// Length of dashes and gaps, so that two marks can be told apart.
fn dashes(index: usize) -> (u32, u32) {
    if index == 0 { (6, 4) } else { (2, 3) }
}

type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) = values.fold((f64::MAX, f64::MIN), |(l, m), value| {
        (l.min(value), m.max(value))
    });
    if least > most {
        (0.0, 1.0)
    } else {
        (least, most)
    }
}

/// A bar chart of counts by whole numbers.
pub(crate) fn histogram(title: &str, x_label: &str, y_label: &str, bars: &[(u32, u32)]) -> String {
    let most = bars
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(1)
        .max(1);
    let last = bars.iter().map(|(value, _)| *value).max().unwrap_or(1);
    let mut text = String::new();
    let draw = |root: &DrawingArea<SVGBackend<'_>, Shift>| -> Drawn<SVGBackend<'_>> {
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(root)
            .caption(title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(54)
            .build_cartesian_2d(-0.5..f64::from(last) + 0.5, 0.0..f64::from(most) * 1.08)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_desc(x_label)
            .y_desc(y_label)
            .x_labels(last as usize + 1)
            .x_label_formatter(&|value| format!("{value:.0}"))
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.08))
            .label_style(("sans-serif", 13))
            .axis_desc_style(("sans-serif", 14))
            .draw()?;
        chart.draw_series(bars.iter().map(|(value, count)| {
            let middle = f64::from(*value);
            let corners = [(middle - 0.4, 0.0), (middle + 0.4, f64::from(*count))];
            Rectangle::new(corners, THESIS.mix(0.8).filled())
        }))?;
        root.present()
    };
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        draw(&root).expect("drawing into memory cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_svg_with_its_words_in_it() {
        let svg = Chart {
            title: "Late collisions".into(),
            x_label: "speed, m/s".into(),
            y_label: "late, %".into(),
            marks: vec![(2.0, "tolerance".into())],
            limit: Some(1.0),
            y_least_top: 10.0,
            lines: vec![Line {
                name: "ours".into(),
                colour: OURS,
                points: vec![(1.0, 0.0), (2.0, 0.0), (3.0, 4.0)],
                style: LineStyle::Dotted,
            }],
        }
        .svg();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for word in [
            "Late collisions",
            "speed, m/s",
            "late, %",
            "tolerance",
            "ours",
        ] {
            assert!(svg.contains(word), "{word}");
        }
    }

    #[test]
    fn sizes_that_double_lie_at_equal_distances() {
        let across = Across::Doubling { from: 0.025 };
        let places: Vec<f64> = [0.025, 0.05, 0.1].map(|x| across.place(x)).into();
        assert!((places[1] - places[0] - 1.0).abs() < 1e-9);
        assert!((places[2] - places[1] - 1.0).abs() < 1e-9);
        assert_eq!(across.label(places[0]), "0.025");
        let svg = Chart {
            title: String::new(),
            x_label: "bodies".into(),
            y_label: String::new(),
            marks: Vec::new(),
            limit: None,
            y_least_top: 1.0,
            lines: vec![Line {
                name: "ours".into(),
                colour: OURS,
                points: (0..7).map(|i| (250.0 * f64::from(1 << i), 1.0)).collect(),
                style: LineStyle::Dotted,
            }],
        }
        .svg_doubling(250.0);
        for label in ["250", "500", "1000", "2000", "4000", "8000", "16000"] {
            assert!(svg.contains(&format!("\n{label}\n")), "{label}: {svg}");
        }
    }

    #[test]
    fn nothing_to_show_is_still_a_picture() {
        assert!(histogram("t", "x", "y", &[]).contains("</svg>"));
        let empty = Chart {
            title: String::new(),
            x_label: String::new(),
            y_label: String::new(),
            marks: Vec::new(),
            limit: None,
            y_least_top: 1.0,
            lines: Vec::new(),
        };
        assert!(empty.svg().contains("</svg>"));
    }
}
