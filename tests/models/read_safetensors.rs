//! Reads a safetensors file with Rust's standard library alone. Of every tensor it prints: name,
//! type, shape, the sum of its float32 elements in their order, and Σ (i + 1) · word i modulo 2⁶⁴.
use std::io::{Read, Seek, SeekFrom};
use std::{env, fs::File};

/// The header's JSON: strings with a quote before them, whole numbers, and braces and brackets.
fn tokens(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (place, part) in text.split('"').enumerate() {
        if place % 2 == 1 {
            assert!(!part.contains('\\'), "escapes are not read");
            found.push(format!("\"{part}"));
            continue;
        }
        for mark in part.split_inclusive(|c: char| !c.is_ascii_digit()) {
            let number = mark.trim_end_matches(|c: char| !c.is_ascii_digit());
            let rest = mark[number.len()..].trim_matches(|c: char| c == ':' || c == ',' || c == ' ');
            found.extend([number, rest].iter().filter(|t| !t.is_empty()).map(|t| t.to_string()));
        }
    }
    found
}

fn main() {
    let mut file = File::open(env::args().nth(1).expect("a path")).unwrap();
    let mut length = [0u8; 8];
    file.read_exact(&mut length).unwrap();
    let mut header = vec![0u8; u64::from_le_bytes(length) as usize];
    file.read_exact(&mut header).unwrap();
    let mut rest = tokens(std::str::from_utf8(&header).unwrap()).into_iter().skip(1);
    while let Some(name) = rest.next().filter(|token| token != "}") {
        let body: Vec<String> = rest.by_ref().take_while(|token| token != "}").collect();
        let after = |key: &str| 1 + body.iter().position(|token| token == key).expect("a key");
        let list = |key: &str| -> Vec<u64> {
            let held = body[after(key) + 1..].iter().take_while(|token| *token != "]");
            held.map(|number| number.parse().unwrap()).collect()
        };
        if name == "\"__metadata__" {
            continue;
        }
        let (dtype, shape, span) = (&body[after("\"dtype")], list("\"shape"), list("\"data_offsets"));
        let mut bytes = vec![0u8; (span[1] - span[0]) as usize];
        file.seek(SeekFrom::Start(8 + header.len() as u64 + span[0])).unwrap();
        file.read_exact(&mut bytes).unwrap();
        let words = bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap()));
        let sum: f64 = words.clone().map(|word| f32::from_bits(word) as f64).sum();
        let mixed = words
            .zip(1u64..)
            .fold(0u64, |a, (word, i)| a.wrapping_add((word as u64).wrapping_mul(i)));
        println!("{}\t{}\t{shape:?}\t{sum:?}\t{mixed}", &name[1..], &dtype[1..]);
    }
}
