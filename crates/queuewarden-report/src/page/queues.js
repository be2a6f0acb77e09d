// What the two grids show: the queues with their ACLs, and the matrix of queues and subjects.

const COLUMN = 46;
const ICONS = { user: 'user', group: 'group', everyone: 'everyone' };
/** On paper more rows than this only say what begins in them: what is inherited stands with the rows above. */
const BRIEF_FROM = 500;
/** More are not printed: browsers take minutes to break them into sheets. */
const PAPER_ROWS = 1000;
/** In a narrower view the columns stand below each other, in rows of this height. */
const NARROW = 700;
const STACKED_ROW = 86;
/** A chip is never wider, in px: longer names are cut by the style sheet. */
const CHIP = 190;
/** What a chip has beside its name, with the gap to the next: icon, padding and border; and its clock. */
const CHIP_FRAME = 37;
const CLOCK = 16;
/** The number of those who do not fit. */
const MORE = 34;

/** The width of a name in a chip. */
const widths = new Map();
let pen;
function width(text) {
    if (!widths.has(text)) {
        if (!pen) {
            pen = document.createElement('canvas').getContext('2d');
            // The font of a chip (style.css), in its boldest form.
            pen.font = `600 12.5px ${getComputedStyle(document.body).fontFamily}`;
        }
        widths.set(text, pen.measureText(text).width);
    }
    return widths.get(text);
}

/** A subject as a chip; `inherited` where a queue above grants it, `until` the end of that grant. */
function chip(subject, inherited, until, needle) {
    const words = `, ${subject.kind}${inherited ? ', inherited' : ''}${until ? `, until ${until}` : ''}; `;
    return h('span', { class: `chip ${subject.kind} ${inherited ? 'inherited' : 'own'}`, 'data-subject': subject.number, title: `${visible(subject.name)}${until ? ` until ${until}` : ''}` },
        icon(ICONS[subject.kind]), name(subject.name, needle), until && icon('clock'), h('span', { class: 'unseen' }, words));
}

/** As many chips as fit, and how many more there are. */
function chips(model, holders, queue, { room, query, none }) {
    if (holders.length === 0) {
        return h('span', { class: 'nobody' }, none);
    }
    const shown = [];
    let left = room;
    for (const [index, start] of holders.entries()) {
        const subject = model.subjects[start.subject];
        const until = model.until(start);
        left -= Math.min(width(visible(subject.name)) + CHIP_FRAME + (until ? CLOCK : 0), CHIP + 5);
        // What is left must take the number of the others, unless there are none.
        if (left < (index === holders.length - 1 ? 0 : MORE) && shown.length > 0) {
            break;
        }
        const needle = query && isAsked(query, subject) ? query.any : null;
        shown.push(chip(subject, start.queue !== queue, until, needle));
    }
    const more = holders.length - shown.length;
    return more > 0 ? [...shown, h('span', { class: 'more' }, `+${more}`, h('span', { class: 'unseen' }, ' more'))] : shown;
}

/** The cell of the tree itself. */
function treeCell(tree, number, query) {
    const queue = tree.model.queues[number];
    const open = tree.isOpen(number);
    const indent = h('span', { class: 'indent' });
    indent.style.width = `${Math.min(queue.level - 1, 12) * 18}px`;
    const twisty = open === null
        ? h('span', { class: 'twisty none' })
        : h('button', { class: 'twisty', tabindex: '-1', 'aria-hidden': 'true', type: 'button' }, icon(open ? 'open' : 'closed'));
    const needle = query?.queue && queue.name.toLowerCase().includes(query.queue) ? query.queue : null;
    const below = open === false ? h('span', { class: 'below', title: count(queue.end - number - 1, 'queue') + ' below' },
        numbers.format(queue.end - number - 1), h('span', { class: 'unseen' }, ' queues below')) : null;
    return [indent, twisty, h('span', { class: 'name', title: visible(queue.path) }, name(queue.name, needle)), below];
}

/** What the grid needs to know of the tree, whichever columns it shows. */
function treeSource(page, fixed, columns) {
    const { tree, model } = page;
    return {
        rows: page.paper ? tree.rows().slice(0, PAPER_ROWS) : tree.rows(),
        fixed,
        columns,
        isOpen: (queue) => tree.isOpen(queue),
        place: (queue) => tree.place(queue),
        above: (queue) => model.queues[queue].parent,
        where: (queue) => visible(model.queues[model.queues[queue].parent]?.path ?? ''),
        rowClass: (queue) => (tree.found && !tree.found.has(queue) ? 'context' : ''),
        chosen: () => (page.chosen?.queue),
        choose: (queue, column) => page.choose({ queue, subject: column >= 0 ? columns?.subject(column) : undefined }),
        toggle: (queue, open) => {
            tree.toggle(queue, open);
            page.showGrid();
        },
        openBeside: (queue) => {
            const above = model.queues[queue].parent;
            const beside = above === null ? [queue] : model.queues[above].children;
            beside.filter((each) => tree.isOpen(each) === false).forEach((each) => tree.toggle(each, true));
            page.showGrid();
        },
    };
}

/** The queues with who may do what there. */
function queuesSource(page, wide) {
    const { model, tree, query } = page;
    const stacked = wide < NARROW;
    // Three columns share what the findings' leaves, or one has all but its label (style.css).
    const room = stacked ? wide - 120 : Math.min((Math.max(wide, 760) - 84) / 3, (Math.max(wide, 760) - 84 - 240) / 2) - 20;
    const brief = page.paper && tree.rows().length > BRIEF_FROM;
    const holders = (queue, verb) => {
        const all = model.holders(queue, verb);
        return brief ? all.filter((start) => start.queue === queue) : all;
    };
    const nobody = brief ? '' : 'nobody';
    // Whoever submits as an administrator stands in the administrators' column.
    const submitters = (queue) => {
        const all = holders(queue, SUBMIT);
        const none = all.length > 0 && !brief ? 'administrators only' : nobody;
        return chips(model, all.filter((start) => start.acl === 'submitacl'), queue, { room, query, none });
    };
    const administrators = (queue) => chips(model, holders(queue, ADMINISTER), queue, { room, query, none: nobody });
    const source = treeSource(page, [
        { title: 'Queue', class: 'tree', cell: (queue) => treeCell(tree, queue, query) },
        { title: 'May submit', class: 'who submit', cell: submitters },
        { title: 'May administer, and submit', class: 'who admin', cell: administrators },
        { title: 'Findings', class: 'findings', cell: (queue) => severity(model.findingsOf.get(queue) ?? []) },
    ], null);
    return stacked ? { ...source, rowHeight: STACKED_ROW } : source;
}

/** How many findings, and how bad. */
function severity(findings) {
    if (findings.length === 0) {
        return null;
    }
    const worst = findings.some((finding) => finding.severity === 'error') ? 'error' : 'warning';
    return h('span', { class: `severity ${worst}` }, icon(worst), String(findings.length), h('span', { class: 'unseen' }, ` ${worst}${findings.length > 1 ? 's' : ''}`));
}

/** How a right is held, in words: `submit, inherited from root.prod, as an administrator`. */
function how(model, start, verb, queue) {
    const words = [verb];
    if (start.queue !== queue) {
        words.push(`inherited from ${visible(model.queues[start.queue].path)}`);
    }
    if (verb === SUBMIT && start.acl === 'adminacl') {
        words.push('as an administrator');
    }
    if (model.subjects[start.subject].kind === 'everyone') {
        words.push('as everyone');
    }
    return words.join(', ');
}

/** One right in a cell of the matrix: filled where it is granted, an outline where it is inherited, round for everyone. */
function mark(model, start, verb, queue) {
    const classes = ['mark', verb, start.acl, start.queue === queue ? 'own' : 'inherited', model.subjects[start.subject].kind];
    return h('span', { class: classes.join(' '), 'aria-hidden': 'true' }, verb === SUBMIT ? 'S' : 'A');
}

/** The subjects in the order of the matrix: everyone, then users and groups by name, only those searched for. */
function matrixSubjects(page) {
    const all = page.model.subjects.filter((subject) => !page.foundSubjects || page.foundSubjects.has(subject.number));
    return [...all.filter((subject) => subject.kind === 'everyone'), ...all.filter((subject) => subject.kind !== 'everyone')];
}

/** The queues beside the subjects. */
function matrixSource(page) {
    const { model, tree, query } = page;
    const subjects = matrixSubjects(page);
    return treeSource(page, [{ title: 'Queue', class: 'tree', cell: (queue) => treeCell(tree, queue, query) }], {
        count: subjects.length,
        width: COLUMN,
        subject: (at) => subjects[at].number,
        header: (at) => h('button', {
            type: 'button', tabindex: '-1', class: `subject ${subjects[at].kind} ${page.chosen.subject === subjects[at].number ? 'chosen' : ''}`, 'data-subject': subjects[at].number, title: visible(subjects[at].name),
        }, icon(ICONS[subjects[at].kind]), h('span', { class: 'name' }, name(subjects[at].name)), h('span', { class: 'unseen' }, `, ${subjects[at].kind}`)),
        cell: (cell, queue, at) => {
            const held = VERBS.map((verb) => [verb, model.held(queue, subjects[at].number, verb)]);
            cell.dataset.subject = subjects[at].number;
            cell.classList.toggle('chosen', page.chosen.subject === subjects[at].number && page.chosen.queue === queue);
            const holds = held.filter(([, start]) => start);
            if (holds.length > 0) {
                const words = holds.map(([verb, start]) => how(model, start, verb, queue)).join('; ');
                cell.append(...held.map(([verb, start]) => (start ? mark(model, start, verb, queue) : h('span', { class: 'mark none' }))), h('span', { class: 'unseen' }, words));
                cell.title = `${visible(subjects[at].name)}: ${words}`;
            }
        },
    });
}
