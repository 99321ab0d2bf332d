// The data of the page: JSON documents in elements of their own, parsed when they are first needed.

const parts = new Map();

function hasPart(name) { return byId(`data-${name}`) !== null; }

function part(name) {
    if (!parts.has(name)) parts.set(name, JSON.parse(byId(`data-${name}`).textContent));
    return parts.get(name);
}

// Rows of a table as objects.
function rowsOf(table) {
    const {columns} = table;
    return table.rows.map((row) => {
        const made = {};
        for (let i = 0; i < columns.length; ++i) made[columns[i]] = row[i];
        return made;
    });
}

// Functions and modules, which are looked up often.
const profile = {
    load() {
        const list = part('functions');
        this.unit = list.unit;
        // What functions and stacks can be weighed by, the usual one first.
        this.units = list.other_unit ? [list.unit, list.other_unit] : [list.unit];
        this.sampled = list.sampled;
        this.modules = rowsOf(list.modules);
        this.functions = rowsOf(list.functions);
        this.byId = new Map();
        this.byFullName = new Map();
        const uses = new Map();
        for (const each of this.functions) uses.set(each.name, (uses.get(each.name) || 0) + 1);
        this.functions.forEach((each, index) => {
            each.index = index;
            each.full = each.name + (each.arguments || '');
            each.shown = abbreviated(each.name);
            each.id = uses.get(each.name) === 1 ?
                each.name :
                `${each.name}@${this.moduleName(each)}:${each.start}`;
            each.hasName =
                each.start === null || each.name !== `${this.moduleName(each)}+${each.start}`;
            this.byId.set(each.id, each);
            if (!this.byFullName.has(each.full)) this.byFullName.set(each.full, each);
        });
    },
    // Weighs functions and stacks by one of the units from now on.
    weighBy(unit) {
        if (unit === this.unit) return;
        this.unit = unit;
        const swapped = ['self', 'share', 'error', 'total'];
        for (const each of this.functions)
            for (const name of swapped)
                [each[name], each[`other_${name}`]] = [each[`other_${name}`], each[name]];
    },
    // Those with a share of their own, the hottest first.
    hottest() {
        return this.functions.filter((each) => each.share > 0).sort((a, b) => b.share - a.share);
    },
    flame() { return part(this.unit === this.units[0] ? 'flame' : 'other_flame'); },
    // An amount by the weight of functions and stacks; time is in nanoseconds.
    amount(size) {
        if (this.unit === 'time') return duration(size / 1e9);
        return `${shortCount(size)} ${this.unit}`;
    },
    moduleName(each) { return this.modules[each.module] ? this.modules[each.module].name : '?'; },
    // Created from a table row when it is asked for, as there may be many.
    place(index) {
        const {places, files} = part('places');
        this.places = this.places || [];
        if (!this.places[index]) {
            const [each, offset, address, file, line, text] = places.rows[index];
            this.places[index] = {
                function: this.functions[each],
                offset,
                address,
                line,
                text,
                file: file === null ? '' : files[file]
            };
        }
        return this.places[index];
    },
    file(index) { return part('places').files[index]; },
};

function placeName(place) {
    const {function: around, offset, address} = place;
    if (!around.hasName || around.start === null) return `${profile.moduleName(around)}+${address}`;
    return offset === '0x0' ? around.shown : `${around.shown}+${offset}`;
}

function sourceName(place) { return place.file ? `${baseName(place.file)}:${place.line}` : ''; }

function functionHash(each, address) {
    const words = new URLSearchParams({function: each.id});
    if (address) words.set('at', address);
    return withChoices(`#${words}`);
}

// The function's name, as a link if its code is in the page.
function functionLink(each, text = each.shown, address = undefined) {
    const named = {
        class: 'name',
        title: `${each.full}\n${profile.moduleName(each)}`,
        'data-full': each.full === each.shown ? null : each.full
    };
    return each.code ? node('a', {...named, href: functionHash(each, address)}, text) :
                       node('span', named, text);
}

function placeLink(index) {
    const place = profile.place(index);
    return functionLink(place.function, endKept(placeName(place)), place.address);
}

// Executed code of a function, with its source; null if it is not in the page.
const loadedCode = new Map();
function codeOf(each) {
    if (!each.code) return null;
    if (!loadedCode.has(each.index)) loadedCode.set(each.index, new FunctionCode(each));
    return loadedCode.get(each.index);
}

class FunctionCode {
    constructor(each) {
        const data = part(`code-${each.index}`);
        this.function = each;
        this.incomplete = data.incomplete;
        this.source = new Map();
        for (const [file, pieces] of Object.entries(data.source || {}))
            this.source.set(Number(file), pieces);
        // A row of three is a run that was never executed and is only summarized.
        this.rows = data.code.rows.map(
            (row) => row.length === 3 ?
                {address: row[0], last: row[1], folded: row[2], executions: 0} :
                {
                    address: row[0],
                    text: row[1],
                    executions: row[2],
                    file: row[3],
                    line: row[4],
                    gap: row[5] === 1,
                    facts: row[6] || {}
                });
        this.known = this.rows.some((row) => row.executions !== null);
        this.most = 0;
        this.sum = 0;
        this.time = 0;
        this.byAddress = new Map();
        this.rows.forEach((row, index) => {
            row.index = index;
            this.byAddress.set(row.address, row);
            this.most = Math.max(this.most, row.executions || 0);
            this.sum += row.executions || 0;
            const time = row.facts && row.facts.time_ns || 0;
            this.time += time;
            // Neither executed in a sample nor seen by a look.
            row.cold = row.executions === 0 && time === 0;
        });
    }
    // Undefined if the text is not in the page.
    sourceLine(file, line) {
        for (const [first, lines] of this.source.get(file) || [])
            if (line >= first && line < first + lines.length) return lines[line - first];
        return undefined;
    }
}
