#include "report/html/frame_numbers.h"

#include "base/text/text_format.h"
#include "report/html/json_table.h"

namespace shadowprof {

std::size_t FrameNumbers::number(const ExportFrame& frame) {
    const auto known = by_pointer_.find(&frame);
    if (known != by_pointer_.end()) return known->second;
    const auto [it, added] = by_name_.try_emplace({frame.function, frame.inlined}, frames_.size());
    if (added) frames_.push_back(&frame);
    by_pointer_.emplace(&frame, it->second);
    return it->second;
}

void FrameNumbers::write(JsonWriter& json) const {
    json.key("frames");
    begin_table(json, {"name", "inlined", "file"});
    for (const ExportFrame* frame : frames_) {
        json.begin_array();
        json.value(frame->function);
        json.value(frame->inlined ? 1 : 0);
        json.value(printable(base_name(frame->file)));
        json.end_array();
    }
    end_table(json);
}

}  // namespace shadowprof
