//! All kinds of messages with their numbers and names, as the protocol's page lists them.

/// What a client sends.
pub const FROM_CLIENT_KINDS: &[(u8, &str)] = &[
    (0x01, "Hello"),
    (0x02, "Watch"),
    (0x03, "Ping"),
    (0x04, "Command"),
    (0x05, "Inspect"),
    (0x06, "Anew"),
];

/// What a gateway sends.
pub const FROM_GATEWAY_KINDS: &[(u8, &str)] = &[
    (0x81, "Welcome"),
    (0x82, "World"),
    (0x83, "Statics"),
    (0x84, "Forms"),
    (0x85, "Update"),
    (0x86, "Pong"),
    (0x87, "Answer"),
    (0x88, "Goodbye"),
    (0x89, "Inspection"),
    (0x8a, "Features"),
];

/// What a client may ask for.
pub const COMMAND_KINDS: &[(u8, &str)] = &[
    (0x01, "Spawn"),
    (0x02, "Impulse"),
    (0x03, "Velocity"),
    (0x04, "Remove"),
    (0x05, "Reset"),
    (0x06, "SwitchScene"),
    (0x07, "DefineRegions"),
    (0x08, "Inject"),
    (0x09, "Ray"),
    (0x0a, "Overlap"),
    (0x0b, "PutUp"),
    (0x0c, "KillServer"),
    (0x0d, "SetNetwork"),
    (0x0e, "StopInjections"),
];

/// What it is answered.
pub const ANSWER_KINDS: &[(u8, &str)] = &[
    (0x01, "Done"),
    (0x02, "NotFound"),
    (0x03, "Refused"),
    (0x04, "Forbidden"),
    (0x05, "Hit"),
    (0x06, "Touching"),
    (0x07, "NoAnswer"),
];

/// What an update is made of.
pub const SECTION_KINDS: &[(u8, &str)] = &[
    (0x01, "Begin"),
    (0x02, "Join"),
    (0x03, "Packet"),
    (0x04, "End"),
    (0x05, "Entered"),
    (0x06, "Left"),
    (0x07, "Owners"),
    (0x08, "Contacts"),
];

/// What an inspection is made of.
pub const PART_KINDS: &[(u8, &str)] = &[
    (0x01, "Auras"),
    (0x02, "Clusters"),
    (0x03, "Bodies"),
    (0x04, "Flight"),
    (0x05, "Migrations"),
    (0x06, "Crossings"),
    (0x07, "Health"),
    (0x08, "Figures"),
    (0x09, "Truth"),
];

/// Why a gateway ends a connection.
pub const GOODBYE_REASONS: &[(u8, &str)] = &[
    (0x01, "Version"),
    (0x02, "Token"),
    (0x03, "Malformed"),
    (0x04, "Flooding"),
    (0x05, "TooSlow"),
    (0x06, "Silent"),
    (0x07, "Stopping"),
];
