// Results of instructions: how frequent each is, and whether callers make a difference.

function showValues(container) {
    const data = part('values');
    const rows = data.values.map((value, i) => ({...valueOf(value), gain: data.gains[i]}));
    const weight = (value) => (value.invariance || 0) * value.count;
    const of = (value) => value.at;
    const constants =
        data.constants ? `; ${exactCount(data.constants)} constants by design left out` : '';
    showTable(
        container, 'Values',
        shownText(data, 'results of instructions', 'their executions') + constants, {
            rows,
            text: (value) => `${value.operand} ${valueText(value)} ${placeText(value.at)}`,
            details: valueDetails,
            columns: [
                {
                    title: 'Weight',
                    hint: 'executions with the most frequent value',
                    number: true,
                    value: weight,
                    cell: (value) => shortCount(weight(value))
                },
                column.count('Executions', (value) => value.count),
                column.place('Instruction at', of),
                column.instruction(of),
                {
                    title: 'Result',
                    class: 'code result',
                    cell: (value) => value.invariance === null ?
                        value.operand :
                        node(
                            'span', {title: valueTitle(value.top[0][0], value.type)},
                            `${value.operand} = ${valueText(value)}`)
                },
                {
                    title: 'Invariance',
                    class: 'share',
                    hint: 'share of the most frequent value, and what it is at least',
                    value: (value) => value.invariance || 0,
                    cell: (value) => value.invariance === null ?
                        node('span', {class: 'faint'}, 'rarely the same') :
                        [
                            valueBar(value),
                            node('span', {class: 'percent'}, percent(value.invariance)),
                            node('span', {class: 'margin'}, lowerBound(value))
                        ]
                },
                ...(data.gains.some((gain) => gain > 0) ? [{
                    title: 'By caller',
                    number: true,
                    value: (value) => value.gain,
                    hint: 'executions with the value most frequent for the caller, but not for all',
                    cell: (value) => value.gain > 0 ? `+${shortCount(value.gain)}` : ''
                }] :
                                                          []),
                column.source(of),
            ],
        });
}
