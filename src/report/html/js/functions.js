// All functions: their own instructions or time, the same with callees, calls and loops.

function showFunctions(container, words) {
    const rows =
        shownFunctions().filter((each) => each.self > 0 || each.total > 0 || each.entries > 0);
    const all = shownTotal();
    const byStacks = profile.unit !== 'blocks entered';
    const byTime = profile.unit === 'time';
    const has = (name) => rows.some((each) => each[name] > 0);
    const callers = (each) => inStacks(each.full) ?
        callersLink(
            each.full, '\u21c5',
            {'aria-label': `Callers of ${each.shown}`, 'data-callers': true, tabindex: -1}) :
        '';
    const table = showTable(
        container, 'Functions', `${exactCount(rows.length)} functions, by ${profile.unit}`, {
            rows,
            open: (each) => {
                if (each.code) location.hash = functionHash(each);
            },
            text: (each) => `${each.full} ${profile.moduleName(each)} ${each.file}`,
            columns: [
                column.share(
                    'Self', (each) => each.share, (each) => each.error,
                    'of the function itself, with half the width of the 95% confidence interval',
                    largest(rows, (each) => each.share)),
                byTime ? {
                    title: 'Time',
                    number: true,
                    value: (each) => each.self,
                    cell: (each) => profile.amount(each.self)
                } :
                         column.count(byStacks ? 'Instructions' : 'Blocks', (each) => each.self),
                ...(byStacks ? [column.share(
                                   'With callees', (each) => ratio(each.total, all),
                                   () => undefined, 'of the function and all that it calls')] :
                               []),
                ...(has('entries') ?
                        [column.count(
                            'Calls', (each) => each.entries, 'how often it was entered')] :
                        []),
                ...(has('back_edges') ? [column.count(
                                            'Loops', (each) => each.back_edges,
                                            'taken backward branches within it')] :
                                        []),
                {
                    title: 'Function',
                    class: 'place main',
                    rising: true,
                    value: (each) => each.name,
                    cell: (each) => functionLink(each)
                },
                ...(hasPart('flame') ? [{title: '', hint: 'callers and callees', cell: callers}] :
                                       []),
                {
                    title: 'Module',
                    class: 'module',
                    rising: true,
                    value: (each) => profile.moduleName(each),
                    cell: (each) => profile.moduleName(each)
                },
                {
                    title: 'Source',
                    class: 'source',
                    rising: true,
                    value: (each) => each.file,
                    cell: (each) => each.file ?
                        node('span', {title: each.file}, `${baseName(each.file)}:${each.line}`) :
                        ''
                },
            ],
        });
    container.firstElementChild.addEventListener('view-key', (event) => {
        const row = document.activeElement.closest('[data-row]');
        const link = row && row.querySelector('[data-callers]');
        if (event.detail !== 'w' || !link) return;
        event.preventDefault();
        link.click();
    });
    if (words.get('filter')) {
        table.filter.value = words.get('filter');
        table.draw();
    }
}
