//! The byte order mark of UTF-8 is in front of the first record, and no part of it.

use super::*;
use RecordKind::{Csv, Lines, Tsv};

#[test]
fn a_mark_stays_in_front_of_every_text() {
    sorts(Lines, "", "\u{feff}b\na\n", "\u{feff}a\nb\n");
    sorts(Lines, "-n", "\u{feff}10\n9", "\u{feff}9\n10\n");
    sorts(
        Csv,
        "--by 1",
        "\u{feff}\"na\nme\",b\nz,1\na,2\n",
        "\u{feff}\"na\nme\",b\na,2\nz,1\n",
    );
    sorts(
        Csv,
        "--no-header --by 1",
        "\u{feff}\"b\n\",1\na,2\n",
        "\u{feff}a,2\n\"b\n\",1\n",
    );
    sorts(
        Tsv,
        "--no-header --by 1:num",
        "\u{feff}3\tx\n1\ty",
        "\u{feff}1\ty\n3\tx\n",
    );
    // Nothing but the mark, and a mark that is cut short.
    for (kind, line) in [(Lines, ""), (Csv, "--by 1"), (Csv, "--no-header --by 1")] {
        sorts(kind, line, "\u{feff}", "\u{feff}");
    }
    let cut = sorted(Lines, "", false, b"\xef\xbb\na\n");
    assert_eq!(cut.as_deref(), Ok(&b"a\n\xef\xbb\n"[..]));
}

#[test]
fn tables_in_utf_16_are_refused() {
    let told = "file: the file is in UTF-16: iconv -f UTF-16 -t UTF-8 makes UTF-8 of it (-f \
                UTF-16LE or -f UTF-16BE if it has no byte order mark)";
    for (table, has_mark) in [
        ("\u{feff}a\r\nb\r\na\r\n", true),
        ("a\r\nb\r\na\r\n", false),
        ("2,a\n1,b\n10,c\n", false),
        ("имя,город\nИван,Москва\nАнна,Пермь\n", false),
        ("नाम,शहर\r\nअमर,पटना\r\n", false),
        ("ชื่อ,เมือง\nก,ข\n", false),
        ("όνομα,πόλη\rα,β\r", false),
        // Bytes of line ends and separators are in these characters, and a NUL in the last one.
        ("上,Ⰰ\n下,b\n一,c\n", false),
    ] {
        let little: Vec<u8> = (table.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = (table.encode_utf16()).flat_map(u16::to_be_bytes).collect();
        for file in [little, big] {
            fails(Csv, "--by 1", &file, told);
            if has_mark {
                fails(Tsv, "--no-header --by 1", &file, told);
            }
        }
    }
    // NUL bytes alone do not make it UTF-16.
    let sorted = "another\0,\0\nname\0,x\n";
    sorts(
        Csv,
        "--no-header --by 1",
        "name\0,x\nanother\0,\0\n",
        sorted,
    );
}
