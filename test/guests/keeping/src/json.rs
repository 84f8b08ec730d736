//! As much of JSON as calls need. The host writes it, without spaces.

pub enum Json {
    Text(String),
    Number(u64),
    Object(Vec<(String, Json)>),
    Other,
}

impl Json {
    pub fn parse(text: &str) -> Json {
        value(&mut text.as_bytes())
    }

    pub fn get(&self, key: &str) -> &Json {
        match self {
            Json::Object(members) => {
                members.iter().find(|(name, _)| name == key).map_or(&Json::Other, |(_, value)| value)
            }
            _ => &Json::Other,
        }
    }

    /// A text; empty where it is none.
    pub fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            _ => "",
        }
    }

    /// A number; 0 where it is none.
    pub fn number(&self) -> u64 {
        match self {
            Json::Number(number) => *number,
            _ => 0,
        }
    }
}

fn value(rest: &mut &[u8]) -> Json {
    match rest[0] {
        b'"' => Json::Text(text(rest)),
        b'{' => {
            let mut members = Vec::new();
            while rest[0] != b'}' {
                *rest = &rest[1..];
                if rest[0] == b'"' {
                    let name = text(rest);
                    *rest = &rest[1..];
                    members.push((name, value(rest)));
                }
            }
            *rest = &rest[1..];
            Json::Object(members)
        }
        b'[' => {
            while rest[0] != b']' {
                *rest = &rest[1..];
                if rest[0] != b']' {
                    value(rest);
                }
            }
            *rest = &rest[1..];
            Json::Other
        }
        _ => {
            let end = rest.iter().position(|byte| b",]}".contains(byte)).unwrap_or(rest.len());
            let word = std::str::from_utf8(&rest[..end]).unwrap();
            *rest = &rest[end..];
            word.parse().map_or(Json::Other, Json::Number)
        }
    }
}

fn text(rest: &mut &[u8]) -> String {
    let mut bytes = Vec::new();
    *rest = &rest[1..];
    while rest[0] != b'"' {
        let mut length = 1;
        if rest[0] == b'\\' {
            length = 2;
            match rest[1] {
                b'n' => bytes.push(b'\n'),
                b't' => bytes.push(b'\t'),
                b'r' => bytes.push(b'\r'),
                b'u' => {
                    let code = u32::from_str_radix(std::str::from_utf8(&rest[2..6]).unwrap(), 16).unwrap();
                    let character = char::from_u32(code).unwrap_or('\u{fffd}');
                    bytes.extend_from_slice(character.to_string().as_bytes());
                    length = 6;
                }
                other => bytes.push(other),
            }
        } else {
            bytes.push(rest[0]);
        }
        *rest = &rest[length..];
    }
    *rest = &rest[1..];
    String::from_utf8(bytes).unwrap()
}

/// A text as JSON.
pub fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                json.push('\\');
                json.push(character);
            }
            control if control < ' ' => json.push_str(&format!("\\u{:04x}", control as u32)),
            other => json.push(other),
        }
    }
    json.push('"');
    json
}
