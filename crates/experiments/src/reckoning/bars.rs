//! Bars in groups: a group per policy, a bar per receiver; or a group per network, a bar per protocol, with its standard deviation.

use plotters::coord::Shift;
use plotters::prelude::*;

const SIZE: (u32, u32) = (900, 420);
const LEGEND_WIDTH: u32 = 170;

/// One colour per receiver.
const COLOURS: [RGBColor; 6] = [
    RGBColor(200, 80, 20),
    RGBColor(230, 170, 60),
    RGBColor(20, 90, 170),
    RGBColor(90, 140, 60),
    RGBColor(150, 60, 150),
    RGBColor(110, 110, 110),
];

/// Bars before they are drawn.
pub(crate) struct Bars {
    pub title: String,
    pub y_label: String,
    /// What the colours mean.
    pub series: Vec<String>,
    /// Name and one value per series.
    pub groups: Vec<(String, Vec<f64>)>,
    /// A line from value less to value plus this, per group and series; empty: none.
    pub spreads: Vec<Vec<f64>>,
}

type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

impl Bars {
    /// Draws them.
    pub fn svg(&self) -> String {
        let mut text = String::new();
        {
            let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
            self.draw(&root).expect("drawing into memory cannot fail");
            root.present().expect("drawing into memory cannot fail");
        }
        text
    }

    fn draw<DB: DrawingBackend>(&self, root: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        root.fill(&WHITE)?;
        let (field, margin) = root.split_horizontally(SIZE.0 - LEGEND_WIDTH);
        let values = self.groups.iter().enumerate();
        let values = values.flat_map(|(index, group)| {
            let bars = group.1.iter().enumerate();
            bars.map(move |(bar, value)| value + self.spread(index, bar))
        });
        let top = values.fold(0.0, f64::max).max(1e-9);
        let name = |x: &f64| {
            let group = self.groups.get(x.round() as usize);
            group.map_or(String::new(), |group| group.0.clone())
        };
        let mut chart = ChartBuilder::on(&field)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(54)
            .build_cartesian_2d(-0.5..self.groups.len() as f64 - 0.5, 0.0..1.08 * top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .y_desc(&self.y_label)
            .x_labels(self.groups.len())
            .x_label_formatter(&name)
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.08))
            .label_style(("sans-serif", 12))
            .axis_desc_style(("sans-serif", 14))
            .draw()?;
        let width = 0.8 / self.series.len().max(1) as f64;
        for (index, (_, values)) in self.groups.iter().enumerate() {
            for (bar, value) in values.iter().enumerate() {
                let left = index as f64 - 0.4 + bar as f64 * width;
                let corners = [(left, 0.0), (left + 0.92 * width, *value)];
                let colour = COLOURS[bar % COLOURS.len()].mix(0.85).filled();
                chart.draw_series([Rectangle::new(corners, colour)])?;
                let spread = self.spread(index, bar);
                if spread > 0.0 {
                    let middle = left + 0.46 * width;
                    let ends = [
                        (middle, (value - spread).max(0.0)),
                        (middle, value + spread),
                    ];
                    chart.draw_series([PathElement::new(ends, BLACK.mix(0.7))])?;
                }
            }
        }
        for (row, name) in self.series.iter().enumerate() {
            let y = 52 + 20 * row as i32;
            let colour = COLOURS[row % COLOURS.len()].mix(0.85).filled();
            margin.draw(&Rectangle::new([(0, y - 5), (14, y + 5)], colour))?;
            margin.draw(&Text::new(name.clone(), (22, y - 7), ("sans-serif", 13)))?;
        }
        Ok(())
    }

    fn spread(&self, group: usize, bar: usize) -> f64 {
        let spreads = self.spreads.get(group);
        spreads.and_then(|one| one.get(bar)).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_svg_with_their_names() {
        let bars = Bars {
            title: "Errors".into(),
            y_label: "unit·s".into(),
            series: vec!["800 ms".into(), "200 ms".into()],
            groups: vec![
                ("base".into(), vec![5.0, 1.0]),
                ("det PA".into(), vec![4.0, 2.0]),
            ],
            spreads: vec![vec![1.0, 0.5]],
        };
        let svg = bars.svg();
        for word in ["Errors", "800 ms", "base", "det PA", "</svg>"] {
            assert!(svg.contains(word), "{word}");
        }
    }
}
