// Tables that sort by a click on a column's head, filter, and draw only rows in sight.
//
// A column: {title, hint, cell(row) -> content, value(row) -> sort key, number: right-aligned,
// class, rising: sorts in ascending order first}. A click on a row calls `open(row)`, or shows
// `details(row)` below.

class Table {
    constructor({columns, rows, name, open, details, text, sorted = 0}) {
        Object.assign(this, {columns, rows, open, details, text, sorted});
        this.falling = !columns[sorted].rising;
        this.body = node('tbody');
        this.heads = columns.map((column, index) => this.head(column, index));
        this.table = node(
            'table', {class: 'list', 'aria-label': name},
            node('thead', {}, node('tr', {}, this.heads)), this.body);
        this.filter = node('input', {
            type: 'search',
            class: 'filter',
            placeholder: 'Filter',
            'aria-label': `Filter ${name}`,
            spellcheck: 'false',
            oninput: () => this.draw()
        });
        this.count = node('span', {class: 'count', role: 'status'});
        this.draw();
    }
    nodes(left = '') {
        return [
            node(
                'div', {class: 'tools'}, left, node('span', {class: 'space'}), this.count,
                this.text ? this.filter : ''),
            node('div', {class: 'scroll'}, this.table)
        ];
    }
    head(column, index) {
        const sort = column.value ?
            node('button', {type: 'button', onclick: () => this.sort(index)}, column.title) :
            column.title;
        return node(
            'th',
            {scope: 'col', class: column.number ? 'number' : column.class, title: column.hint},
            sort);
    }
    sort(index) {
        this.falling = index === this.sorted ? !this.falling : !this.columns[index].rising;
        this.sorted = index;
        this.draw();
    }
    shownRows() {
        const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
        const rows = words.length === 0 ? [...this.rows] : this.rows.filter((row) => {
            const text = this.text(row).toLowerCase();
            return words.every((word) => text.includes(word));
        });
        const {value} = this.columns[this.sorted];
        if (!value) return rows;
        const sign = this.falling ? -1 : 1;
        const keyed = rows.map((row) => [value(row), row]);
        keyed.sort(([a], [b]) => sign * (a < b ? -1 : a > b ? 1 : 0));
        return keyed.map(([, row]) => row);
    }
    draw() {
        this.heads.forEach((head, index) => {
            if (!this.columns[index].value) return;
            const order = this.falling ? 'descending' : 'ascending';
            head.setAttribute('aria-sort', index === this.sorted ? order : 'none');
        });
        if (this.lazy) this.lazy.stop();
        this.body.replaceChildren();
        const rows = this.shownRows();
        this.count.textContent =
            rows.length === this.rows.length ? '' : `${rows.length} of ${this.rows.length}`;
        this.first = true;
        this.lazy = new LazyRows(this.body, rows, (row) => this.row(row));
    }
    row(row) {
        const act = this.open ? () => this.open(row) :
            this.details      ? () => this.toggle(made, row) :
                                null;
        const made = node('tr', {
            'data-row': true,
            tabindex: this.first ? 0 : -1,
            'aria-expanded': this.details && !this.open ? 'false' : null,
            ...(act ? activated(act) : {})
        });
        this.first = false;
        for (const column of this.columns)
            made.append(
                node('td', {class: column.number ? 'number' : column.class}, column.cell(row)));
        return made;
    }
    toggle(made, row) {
        if (made.nextElementSibling && made.nextElementSibling.matches('.details')) {
            made.nextElementSibling.remove();
            made.setAttribute('aria-expanded', 'false');
            return;
        }
        made.after(node(
            'tr', {class: 'details'},
            node('td', {colspan: this.columns.length}, this.details(row))));
        made.setAttribute('aria-expanded', 'true');
    }
}

// How much of a list is in the page, for the list's head.
function shownText(data, plural, counted) {
    if (data.shown === data.total) return `${exactCount(data.total)} ${plural}`;
    const share = data.covered > 0.9995 && data.covered < 1 ? '99.9%' : percent(data.covered);
    return `${exactCount(data.shown)} of ${exactCount(data.total)} ${plural}, ${share} of ${
        counted}`;
}

function showTable(container, title, left, options) {
    const table = new Table({name: title, ...options});
    container.append(node('h2', {}, title), ...table.nodes(left));
    return table;
}

// Columns that many tables have.
const column = {
    place: (title, of, hint) => ({
        title,
        hint,
        class: 'place',
        rising: true,
        value: (row) => placeName(profile.place(of(row))),
        cell: (row) => placeLink(of(row))
    }),
    source: (of) => ({
        title: 'Source',
        class: 'source',
        rising: true,
        value: (row) => sourceName(profile.place(of(row))),
        cell: (row) =>
            node('span', {title: profile.place(of(row)).file}, sourceName(profile.place(of(row))))
    }),
    instruction: (of) => ({
        title: 'Instruction',
        class: 'code',
        cell: (row) => instructionText(profile.place(of(row)).text)
    }),
    count: (title, of, hint) => ({
        title,
        hint,
        number: true,
        value: of,
        cell: (row) => node('span', {title: exactCount(of(row))}, shortCount(of(row)))
    }),
    // Bar lengths are proportional to shares. A share of `most` fills the bar's place.
    share: (title, of, error = () => undefined, hint = undefined, most = 1) => ({
        title,
        hint,
        class: 'share',
        value: of,
        cell: (row) =>
            [bar(ratio(of(row), most)), node('span', {class: 'percent'}, percent(of(row))),
             node('span', {class: 'margin'}, margin(error(row)))]
    }),
};

function placeText(index) {
    const place = profile.place(index);
    return `${placeName(place)} ${place.function.full} ${place.text} ${sourceName(place)}`;
}
