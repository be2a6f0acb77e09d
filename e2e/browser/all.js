// All tests in one process: they share a browser, and none is measured while another one runs.

import { after } from 'node:test';
import { end } from './browser.js';
import './tree.js';
import './search.js';
import './matrix.js';
import './details.js';
import './look.js';
import './safety.js';
import './large.js';

after(end);
