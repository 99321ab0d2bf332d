# Groups numbers and sums them up. Called with --null-input.
[range(60000) | {key: (. * 7919 % 1009), value: (. | sqrt)}]
| group_by(.key)
| map({key: .[0].key, sum: (map(.value) | add), text: (.[0].key | tostring | explode | reverse | implode)})
| sort_by(.sum) | [length, .[0].key, (map(.sum) | add | floor), (map(.text) | join(",") | length)]
