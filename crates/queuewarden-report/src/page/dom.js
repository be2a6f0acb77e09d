// Elements without markup: every text of the document becomes a text node, never HTML.

/** Characters that reorder or hide what stands around them, and controls. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** A name as it is to be read: what cannot be seen is written out, so that no name passes for another. */
function visible(text) {
    return String(text).replace(UNSEEN, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
}

/**
 * An element. Properties are attributes (`class`, `aria-label`), or listeners when their values are functions (`click`); null and
 * false leave them out. Children are nodes, texts, null, or lists of them.
 */
function h(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties ?? {})) {
        if (typeof value === 'function') {
            element.addEventListener(name, value);
        } else if (value !== null && value !== undefined && value !== false) {
            element.setAttribute(name, value === true ? '' : value);
        }
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

/** One of the symbols of index.html; it says nothing that a text beside it does not. */
function icon(name) {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
    svg.setAttribute('class', 'icon');
    svg.setAttribute('aria-hidden', 'true');
    use.setAttribute('href', `#icon-${name}`);
    svg.append(use);
    return svg;
}

/** A name of the document, apart from the text around it, with what was searched for marked. */
function name(text, needle) {
    const shown = visible(text);
    const at = needle ? shown.toLowerCase().indexOf(needle) : -1;
    if (at < 0) {
        return h('bdi', null, shown);
    }
    const end = at + needle.length;
    return h('bdi', null, shown.slice(0, at), h('mark', null, shown.slice(at, end)), shown.slice(end));
}

/** A queue's path, which breaks between its queues. */
function pathName(text) {
    return h('bdi', null, visible(text).split('.').map((part, at) => (at > 0 ? ['.', h('wbr'), part] : part)));
}

/** A message: what stands between backquotes is somebody's text. */
function prose(text) {
    const parts = text.split('`');
    if (parts.length % 2 === 0) {
        return name(text);
    }
    return h('bdi', null, parts.map((part, index) => (index % 2 === 1 ? h('code', null, name(part)) : visible(part))));
}

const numbers = new Intl.NumberFormat('en');

/** `1 queue`, `5,000 queues`. */
function count(number, one, many = `${one}s`) {
    return `${numbers.format(number)} ${number === 1 ? one : many}`;
}
