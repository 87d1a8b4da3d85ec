//! The large workflow of the demo: an archive is digitised, commune by commune, in 500 steps.

use serde_json::{Value, json};

/// Communes that are worked on at the same time; each is followed by the one so many places behind it.
const SIDE_BY_SIDE: usize = 5;

const COMMUNES: [&str; 25] = [
    "An Phú",
    "Bình Minh",
    "Cẩm Thủy",
    "Đại Lộc",
    "Đông Hà",
    "Gia Lâm",
    "Hải Hậu",
    "Hòa Bình",
    "Kỳ Anh",
    "Lạc Thủy",
    "Mộc Châu",
    "Nghi Xuân",
    "Ninh Hải",
    "Ô Môn",
    "Phú Quốc",
    "Quỳnh Lưu",
    "Sa Pa",
    "Tam Đảo",
    "Thạnh Hóa",
    "Thủ Đức",
    "Trà Cú",
    "Vạn Ninh",
    "Vĩnh Bảo",
    "Xuân Lộc",
    "Yên Khánh",
];

/// Key, English, Vietnamese.
const LANES: [(&str, &str, &str); 7] = [
    ("reception", "Reception", "Tiếp nhận"),
    ("conservation", "Conservation", "Bảo quản"),
    ("scanning", "Scanning", "Quét ảnh"),
    ("data", "Data", "Dữ liệu"),
    ("control", "Control", "Kiểm soát"),
    ("signing", "Signing", "Ký số"),
    ("store", "Store", "Kho lưu trữ"),
];

/// Key, lane, English, Vietnamese.
const STEPS: [(&str, &str, &str, &str); 20] = [
    ("receive", "reception", "Receive the files", "Tiếp nhận hồ sơ"),
    ("count", "reception", "Count the folders", "Kiểm đếm hồ sơ"),
    ("sort", "reception", "Sort the folders", "Phân loại hồ sơ"),
    ("fumigate", "conservation", "Fumigate the paper", "Khử trùng tài liệu"),
    ("clean", "conservation", "Clean the paper", "Vệ sinh tài liệu"),
    ("unbind", "conservation", "Unbind the volumes", "Tháo gáy tài liệu"),
    ("scan_one", "scanning", "Scan volume one", "Quét tập một"),
    ("scan_two", "scanning", "Scan volume two", "Quét tập hai"),
    ("scan_three", "scanning", "Scan volume three", "Quét tập ba"),
    ("check", "control", "Check the scans", "Kiểm tra ảnh quét"),
    ("scan_again", "scanning", "Scan again what is blurred", "Quét lại ảnh mờ"),
    ("read", "data", "Recognise the text", "Nhận dạng chữ"),
    ("describe", "data", "Describe the folders", "Nhập dữ liệu mô tả"),
    ("proof", "data", "Proofread", "Soát lỗi chính tả"),
    ("compare", "control", "Compare with the originals", "Đối chiếu bản gốc"),
    ("sign", "signing", "Sign the copies", "Ký số bản sao"),
    ("store", "store", "Put the copies into the store", "Đưa bản sao vào kho"),
    ("bind", "conservation", "Bind the volumes again", "Đóng lại gáy tài liệu"),
    ("give_back", "reception", "Give the originals back", "Trả lại bản gốc"),
    ("accept", "control", "Accept the work", "Nghiệm thu"),
];

/// From, to, kind.
const WAYS: [(&str, &str, &str); 24] = [
    ("receive", "count", "trigger"),
    ("count", "sort", "trigger"),
    ("sort", "fumigate", "parallel"),
    ("sort", "describe", "parallel"),
    ("fumigate", "clean", "trigger"),
    ("clean", "unbind", "trigger"),
    ("unbind", "scan_one", "parallel"),
    ("unbind", "scan_two", "parallel"),
    ("unbind", "scan_three", "parallel"),
    ("scan_one", "check", "and"),
    ("scan_two", "check", "and"),
    ("scan_three", "check", "and"),
    ("check", "scan_again", "condition"),
    ("check", "read", "trigger"),
    ("scan_again", "compare", "trigger"),
    ("read", "proof", "trigger"),
    ("describe", "proof", "trigger"),
    ("proof", "compare", "trigger"),
    ("compare", "sign", "trigger"),
    ("compare", "bind", "parallel"),
    ("sign", "store", "trigger"),
    ("bind", "give_back", "trigger"),
    ("store", "accept", "trigger"),
    ("give_back", "accept", "trigger"),
];

/// The commune whose second volume is scanned by a program that fails.
pub(super) const FAILING: usize = 7;
/// The communes whose proofs are read by a person.
pub(super) const READ_BY_PEOPLE: [usize; 2] = [8, 9];

/// The key of a step; communes count from one.
pub(super) fn key(commune: usize, step: &str) -> String {
    format!("c{commune:02}_{step}")
}

/// The whole definition.
pub(super) fn definition() -> Value {
    let both = |en: &str, vi: &str| json!({ "en": en, "vi": vi });
    let communes = || COMMUNES.iter().enumerate().map(|(index, name)| (index + 1, *name));
    let lanes: Vec<Value> =
        LANES.iter().map(|(key, en, vi)| json!({ "key": key, "title": both(en, vi) })).collect();
    let categories: Vec<Value> = communes()
        .map(|(n, name)| json!({ "key": format!("c{n:02}"), "title": both(name, &format!("Xã {name}")) }))
        .collect();
    let start: Vec<String> = (1..=SIDE_BY_SIDE).map(|n| key(n, "receive")).collect();
    let steps: Vec<Value> = communes().flat_map(|(n, name)| steps_of(n, name)).collect();
    let relations: Vec<Value> = communes().flat_map(|(n, _)| ways_of(n)).collect();
    json!({
        "workflow": "archive_digitisation",
        "title": both("Digitise the archive of a province", "Số hóa kho lưu trữ tỉnh"),
        "description": "Twenty-five communes with twenty steps each, five communes at a time.",
        "lanes": lanes, "categories": categories, "start": start, "steps": steps, "relations": relations,
    })
}

fn steps_of(commune: usize, name: &str) -> impl Iterator<Item = Value> {
    STEPS.iter().map(move |(step, lane, en, vi)| {
        let mut value = json!({
            "key": key(commune, step), "lane": lane, "category": format!("c{commune:02}"),
            "title": { "en": format!("{en}, {name}"), "vi": format!("{vi} xã {name}") },
        });
        let more = match *step {
            "accept" => json!({ "pic": { "class": "pic_human" }, "milestone": true }),
            "proof" if READ_BY_PEOPLE.contains(&commune) => {
                json!({ "pic": { "class": "pic_human" }, "deadline": "30 days" })
            }
            "scan_two" if commune == FAILING => {
                json!({ "executor": "command", "retry": "once", "with": { "program": "scanner" } })
            }
            "check" => {
                json!({ "executor": "noop", "with": { "output": { "blurred": commune % 3 } } })
            }
            _ => json!({ "executor": "noop" }),
        };
        for (field, said) in more.as_object().into_iter().flatten() {
            value[field] = said.clone();
        }
        value
    })
}

fn ways_of(commune: usize) -> impl Iterator<Item = Value> {
    let inside = WAYS.iter().map(move |(from, to, kind)| {
        let mut way = json!({ "from": key(commune, from), "to": key(commune, to), "kind": kind });
        if *kind == "condition" {
            way["when"] = json!(format!("$.outputs.{}.blurred > 0", key(commune, from)));
            way["label"] = json!({ "en": "some are blurred", "vi": "có ảnh mờ" });
        }
        way
    });
    let before = commune.checked_sub(SIDE_BY_SIDE).filter(|before| *before > 0);
    inside.chain(
        before
            .map(|before| json!({ "from": key(before, "accept"), "to": key(commune, "receive") })),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_five_hundred_steps_and_names_each_once() {
        let definition = definition();
        let steps = definition["steps"].as_array().expect("steps");
        let mut keys: Vec<_> = steps.iter().filter_map(|step| step["key"].as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!((steps.len(), keys.len()), (500, 500));
    }
}
