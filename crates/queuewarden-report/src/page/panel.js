// The panel beside the grid: what is chosen, or what there is.

/** At first a list shows this many of its items. */
const LIST = 200;
/** So many where there is more to see. */
const AT_A_GLANCE = 8;
/** On paper there is no asking for more. */
const PAPER = 1000;

/** A list that shows more of itself on demand. */
function long(page, items, draw, wrap, first = LIST) {
    let shown = page.paper ? PAPER : first;
    const holder = wrap(items.slice(0, shown).map(draw));
    if (items.length <= shown) {
        return [holder];
    }
    if (page.paper) {
        return [holder, h('p', null, `${numbers.format(items.length - shown)} more are not printed.`)];
    }
    const more = h('button', { type: 'button', class: 'plain', click: () => {
        const target = holder.tBodies?.[0] ?? holder;
        target.append(...items.slice(shown, shown + LIST).map(draw));
        shown += LIST;
        label();
    } });
    const label = () => {
        more.textContent = `Show more (${numbers.format(Math.max(items.length - shown, 0))} are left)`;
        more.hidden = shown >= items.length;
    };
    label();
    return [holder, more];
}

/** A button that chooses a queue. */
function queueLink(page, number, text) {
    return h('button', { type: 'button', class: 'link', click: () => page.choose({ queue: number }) }, pathName(text ?? page.model.queues[number].path));
}

/** A button that chooses a subject. */
function subjectLink(page, number) {
    const subject = page.model.subjects[number];
    return h('button', { type: 'button', class: `link subject ${subject.kind}`, click: () => page.choose({ subject: number }) },
        icon(ICONS[subject.kind]), name(subject.name), h('span', { class: 'unseen' }, `, ${subject.kind}`));
}

/** Where entries are written. */
function origins(model, start) {
    const places = model.origins(start).map(place);
    return h('span', { class: 'places' }, places.map((text) => h('bdi', { class: 'place' }, text)));
}

function section(title, ...content) {
    return h('section', null, h('h3', null, title), ...content);
}

/** What is known about a queue. */
function queuePanel(page, number, subject) {
    const { model } = page;
    const queue = model.queues[number];
    const path = [...model.lineage(number)].reverse().slice(0, -1);
    const findings = model.findingsOf.get(number) ?? [];
    const changes = model.changesOf.get(number) ?? [];
    const kinds = [queue.leaf ? 'leaf: applications run in it' : `parent of ${count(queue.end - number - 1, 'queue')}`];
    if (queue.recovery) {
        kinds.push('recovery queue: nobody may submit to it');
    }
    return [
        path.length > 0 && h('nav', { class: 'path', 'aria-label': 'Queues above' }, path.map((above) => [queueLink(page, above, model.queues[above].name), ' / '])),
        h('h2', { class: 'queue' }, name(queue.name)),
        h('p', { class: 'kinds' }, kinds.join('; ')),
        subject !== undefined && cellSection(page, number, subject),
        holdersSection(page, number, SUBMIT, 'May submit'),
        holdersSection(page, number, ADMINISTER, 'May administer'),
        section('As written', h('dl', { class: 'written' }, [['submitacl', queue.submit], ['adminacl', queue.admin]].map(([key, acl]) => [
            h('dt', null, key), h('dd', null, acl ? h('code', null, name(acl.text)) : h('span', { class: 'nobody' }, 'not set')),
        ]))),
        findings.length > 0 && section('Findings', h('ul', { class: 'cards' }, byCause(findings).map((alike) => findingCard(page, alike, false)))),
        changes.length > 0 && section('Changed by', h('ul', { class: 'cards' }, changes.map((change) => changeCard(page, change)))),
    ];
}

/** What one subject may do on a queue, by its name and with everyone. */
function cellSection(page, queue, subject) {
    const held = VERBS.map((verb) => [verb, page.model.held(queue, subject, verb)]).filter(([, start]) => start);
    return section(subjectLink(page, subject), held.length === 0
        ? h('p', { class: 'nobody' }, 'May do nothing here by this name.')
        : h('ul', { class: 'holders' }, held.map(([verb, start]) => h('li', null, h('div', null, how(page.model, start, verb, queue)), origins(page.model, start)))));
}

function holdersSection(page, queue, verb, title) {
    const holders = page.model.holders(queue, verb);
    if (holders.length === 0) {
        return section(title, h('p', { class: 'nobody' }, 'Nobody.'));
    }
    const row = (start) => h('li', null,
        h('div', null, subjectLink(page, start.subject), h('span', { class: 'how' },
            start.queue === queue ? 'granted here' : ['from ', queueLink(page, start.queue)],
            verb === SUBMIT && start.acl === 'adminacl' && ', as an administrator')),
        origins(page.model, start));
    return section([title, h('span', { class: 'number' }, numbers.format(holders.length))], ...long(page, holders, row, (items) => h('ul', { class: 'holders' }, items)));
}

/** What a subject may do, by its name and with everyone. */
function subjectPanel(page, number) {
    const { model } = page;
    const subject = model.subjects[number];
    const known = {
        everyone: 'Whoever it is, also who is named nowhere.',
        user: 'By this name alone: what its groups may do stands with the groups.',
        group: 'Its members, whoever they are.',
    };
    return [
        h('p', { class: 'over' }, icon(ICONS[subject.kind]), subject.kind === 'everyone' ? 'wildcard' : subject.kind),
        h('h2', null, name(subject.name)),
        h('p', { class: 'kinds' }, known[subject.kind]),
        VERBS.map((verb) => {
            const whose = subject.kind === 'everyone' ? [number] : [number, model.everyone];
            const starts = whose.flatMap((each) => (model.starts[verb].get(each) ?? []).map((start) => ({ ...start, subject: each })));
            const held = model.numberHeld(number, verb);
            const title = [verb === SUBMIT ? 'May submit' : 'May administer', h('span', { class: 'number' }, `${numbers.format(held)} of ${count(model.queues.length, 'queue')}`)];
            if (starts.length === 0) {
                return section(title, h('p', { class: 'nobody' }, 'Nowhere.'));
            }
            return section(title, ...long(page, starts, (start) => startItem(page, start, number, verb), (items) => h('ul', { class: 'holders' }, items)));
        }),
        h('p', null, h('button', { type: 'button', class: 'plain', click: () => page.search(subject.kind === 'everyone' ? 'everyone' : `${subject.kind}:${visible(subject.name)}`, 'matrix') }, 'Show in the matrix')),
    ];
}

function startItem(page, start, subject, verb) {
    const below = page.model.reach(start).reduce((sum, [from, to]) => sum + to - from, 0) - 1;
    const notes = [
        below > 0 && `and ${count(below, 'queue')} below`,
        verb === SUBMIT && start.acl === 'adminacl' && 'as an administrator',
        start.subject !== subject && 'as everyone',
    ].filter(Boolean);
    return h('li', null, h('div', null, queueLink(page, start.queue), h('span', { class: 'how' }, notes.join(', '))), origins(page.model, start));
}

/** An object that changes nothing. */
function idleItem(page, object) {
    return h('li', null, h('div', null, name(`${object.kind} ${object.name}`), object.queue !== null && [' ', queueLink(page, object.queue)]), h('span', { class: 'how' }, visible(object.reason)), when(page, object));
}

/** What there is, and what the signs mean. */
function overview(page) {
    const { model } = page;
    const open = model.starts[SUBMIT].get(model.everyone) ?? [];
    const kinds = (kind) => model.subjects.filter((subject) => subject.kind === kind).length;
    const latest = model.report.changes.slice(0, 3);
    const { findings, withoutEffect } = model.report;
    return [
        h('h2', null, 'At a glance'),
        h('dl', { class: 'figures' }, [
            ['queue', model.queues.length], ['user', kinds('user')], ['group', kinds('group')], ['finding', findings.length + withoutEffect.length],
        ].map(([what, number]) => h('div', null, h('dd', null, numbers.format(number)), h('dt', null, number === 1 ? what : `${what}s`)))),
        section('Open to everyone', open.length === 0
            ? h('p', null, 'No queue lets everyone submit.')
            : long(page, open.map((start) => ({ ...start, subject: model.everyone })), (start) => startItem(page, start, model.everyone, SUBMIT), (items) => h('ul', { class: 'holders' }, items), AT_A_GLANCE)),
        model.report.admission.length > 0 && section(['In the names of others', h('span', { class: 'number' }, numbers.format(trusted(model.report)))],
            h('dl', { class: 'written' }, model.report.admission.map((setting) => [h('dt', null, name(settingName(setting))), h('dd', null, h('code', null, name(setting.value)))]))),
        model.admissionFindings.length > 0 && section('Findings about them', ...long(page, byCause(model.admissionFindings), (alike) => findingCard(page, alike), (items) => h('ul', { class: 'cards' }, items), AT_A_GLANCE)),
        latest.length > 0 && section('Changed last', h('ul', { class: 'cards' }, latest.map((change) => changeCard(page, change)))),
        withoutEffect.length > 0 && section('Without effect', ...long(page, withoutEffect, (object) => idleItem(page, object), (items) => h('ul', { class: 'holders' }, items), AT_A_GLANCE)),
        page.view in SIGNS && legend(page.view),
        page.view in SIGNS && section('Keys', h('dl', { class: 'keys' }, [
            ['/', 'search'], ['↑ ↓', 'queue by queue'], ['→ ←', 'open and close, then cell by cell'], ['*', 'open all beside it'], ['Enter', 'what is known about it'], ['Esc', 'back to this'],
        ].map(([key, what]) => [h('dt', null, h('kbd', null, key)), h('dd', null, what)]))),
    ];
}

/** The signs of each grid: the classes of a sample, what stands in it, what it means, and an icon. */
const SIGNS = {
    queues: [
        ['submit', 'user own', 'named here: may submit'],
        ['admin', 'group own', 'named here: may administer, and submit'],
        ['submit', 'user inherited', 'named in a queue above'],
        ['submit', 'everyone own', 'everyone'],
        ['submit', 'user own', 'until a time', 'clock'],
    ],
    matrix: [
        ['submit submitacl own', 'S', 'may submit, granted at this queue'],
        ['submit submitacl inherited', 'S', 'may submit, inherited from a queue above'],
        ['administer adminacl own', 'A', 'may administer'],
        ['administer adminacl inherited', 'A', 'may administer, inherited'],
        ['submit adminacl own', 'S', 'may submit, as an administrator'],
        ['submit submitacl own everyone', 'S', 'as everyone, not by name'],
    ],
};

function legend(view) {
    const sample = ([classes, sign, , mark]) => (view === 'matrix'
        ? h('span', { class: `mark ${classes}`, 'aria-hidden': 'true' }, sign)
        : h('span', { class: classes, 'aria-hidden': 'true' }, h('span', { class: `chip ${sign}` }, icon(sign.split(' ')[0]), 'name', mark && icon(mark))));
    return section('Signs', h('ul', { class: 'legend' }, SIGNS[view].map((sign) => h('li', null, sample(sign), sign[2]))));
}
