import { type Html, html } from '@trestle/common/documents/html.ts'
import { PAGE_ICON } from '@trestle/common/documents/page-style.ts'
import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { ServiceName } from '../service-calls/service-call.ts'
import { attribute, type FormProof, proofFields } from './form.ts'
import { type IconName, icon } from './parts.ts'
import { PATHS } from './paths.ts'

export interface Frame {
  readonly email: string
  readonly role: OperatorRole
  readonly services: readonly ServiceName[]
  readonly form: FormProof
  /** The outcome of the last change. */
  readonly toast: string | undefined
}

export interface ConsolePage {
  readonly title: string
  /** The section of the navigation. */
  readonly section?: string
  /** The searched text on the page of results. */
  readonly search?: string
  readonly main: Html
}

/** The headers of each page. A page loads only from its own origin, and no site can show it in a frame. */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'content-type': 'text/html; charset=utf-8',
  // Browsers state the origin of a form only if they may state the referrer.
  'referrer-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'cross-origin-opener-policy': 'same-origin',
} as const

/** htmx evaluates no text, writes no styles, and keeps no page after a sign-out. */
const HTMX_CONFIG = JSON.stringify({
  allowEval: false,
  allowScriptTags: false,
  includeIndicatorStyles: false,
  historyCacheSize: 0,
  selfRequestsOnly: true,
})

interface Section {
  readonly name: string
  readonly label: string
  readonly path: string
  readonly icon: IconName
  /** The second key of the shortcut to the page. */
  readonly key?: string
}

interface SectionGroup {
  readonly title: string
  /** The service of these pages. `undefined` for the console itself. */
  readonly service?: ServiceName
  readonly sections: readonly Section[]
}

/** A group is shown if its service is set up. */
const NAVIGATION: readonly SectionGroup[] = [
  {
    title: 'Console',
    sections: [
      { name: 'overview', label: 'Overview', path: PATHS.home, icon: 'overview', key: 'o' },
      { name: 'audit', label: 'Audit', path: '/audit', icon: 'audit' },
    ],
  },
  {
    title: 'Auth',
    service: 'auth',
    sections: [
      { name: 'users', label: 'Users', path: '/users', icon: 'users', key: 'u' },
      { name: 'messages', label: 'Messages', path: '/messages', icon: 'mail' },
      { name: 'settings', label: 'Settings', path: '/settings', icon: 'settings' },
    ],
  },
  {
    title: 'Payments',
    service: 'payments',
    sections: [
      { name: 'transactions', label: 'Transactions', path: '/transactions', icon: 'transactions', key: 't' },
      { name: 'disputes', label: 'Disputes', path: '/disputes', icon: 'disputes', key: 'd' },
      { name: 'payouts', label: 'Payouts', path: '/payouts', icon: 'payouts', key: 'p' },
      { name: 'exceptions', label: 'Exceptions', path: '/exceptions', icon: 'exceptions' },
      { name: 'merchants', label: 'Merchants', path: '/merchants', icon: 'merchants', key: 'm' },
      { name: 'apps', label: 'Apps', path: '/apps', icon: 'apps' },
      { name: 'deliveries', label: 'Deliveries', path: '/deliveries', icon: 'deliveries' },
      { name: 'jobs', label: 'Jobs', path: '/jobs', icon: 'jobs' },
    ],
  },
  {
    title: 'Inventory',
    service: 'inventory',
    sections: [
      { name: 'products', label: 'Products', path: '/products', icon: 'products' },
      { name: 'stock', label: 'Stock', path: '/stock', icon: 'stock', key: 's' },
      { name: 'imports', label: 'Imports', path: '/imports', icon: 'imports' },
    ],
  },
]

/** Returns a page of an operator: navigation, search, toasts and the content. */
export function renderConsolePage({ title, section, search, main }: ConsolePage, frame: Frame): string {
  return renderDocument(
    title,
    html`<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<a class="brand" href="${PATHS.home}" aria-label="Trestle: overview">${brandMark()}<span>Trestle</span></a>
${searchForm(search)}
${accountMenu(frame)}
<details class="menu"><summary aria-label="Menu">${icon('menu')}</summary>${navigation(frame, section, { label: 'Menu', end: menuAccount(frame) })}</details>
</header>
<div class="columns">
<div class="side">${navigation(frame, section, { label: 'Pages' })}</div>
<main id="main" tabindex="-1">${main}</main>
</div>
<div class="toasts" role="status" aria-live="polite">${frame.toast === undefined ? undefined : toastOf(frame.toast)}</div>
<dialog id="dialog" aria-label="Question"></dialog>
${keysDialog(frame)}
</body>`,
  )
}

/** Returns a page without navigation, such as the sign-in. */
export function renderSinglePage(title: string, main: Html): string {
  return renderDocument(
    title,
    html`<body class="single"><main id="main"><div class="single-brand">${brandMark()}<span>Trestle console</span></div>${main}</main></body>`,
  )
}

function renderDocument(title: string, body: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<meta name="htmx-config" content="${HTMX_CONFIG}">
<title>${title} · Trestle console</title>
<link rel="icon" href="${PAGE_ICON}">
<link rel="stylesheet" href="/assets/console.css">
<script src="/assets/console.js"></script>
<script src="/assets/htmx.js" defer></script>
</head>
${body}
</html>
`.html
}

function brandMark(): Html {
  return html`<svg class="mark" viewBox="0 0 16 16" aria-hidden="true"><path d="M1 3h14v3h-2l1 8h-3l-1-8H6l-1 8H2l1-8H1z"/></svg>`
}

function searchForm(text = ''): Html {
  return html`<form class="search" role="search" method="get" action="${PATHS.search}"><label class="unseen" for="search">Search everything</label>${icon('search')}<input id="search" name="q" type="search" value="${text}" maxlength="255" placeholder="Email, id, last 4, amount, SKU" autocomplete="off" spellcheck="false" data-search><kbd aria-hidden="true">/</kbd></form>`
}

function accountMenu({ email, role, form }: Frame): Html {
  return html`<div class="account"><span class="account-name" title="${email}">${email}</span><span class="badge">${role}</span>
${signOutForm(form)}</div>`
}

/** Shows the operator and the sign-out on narrow pages. They are away from the menu button, to avoid wrong taps. */
function menuAccount({ email, role, form }: Frame): Html {
  return html`<div class="menu-account"><span>${email}</span><span class="badge">${role}</span>${signOutForm(form)}</div>`
}

function signOutForm(form: FormProof): Html {
  return html`<form method="post" action="${PATHS.signOut}">${proofFields(form)}<button class="button quiet" type="submit">${icon('leave')}Sign out</button></form>`
}

function navigation({ services }: Frame, current: string | undefined, { label, end }: Navigation): Html {
  const groups = NAVIGATION.filter(({ service }) => service === undefined || services.includes(service))
  return html`<nav aria-label="${label}">${groups.map(
    ({ title, sections }) =>
      html`<div class="nav-group"><p class="nav-title">${title}</p><ul>${sections.map(
        (section) =>
          html`<li><a href="${section.path}"${attribute('aria-current', section.name === current ? 'page' : undefined)}${attribute('data-go', section.key)}>${icon(section.icon)}<span>${section.label}</span></a></li>`,
      )}</ul></div>`,
  )}${end}</nav>`
}

interface Navigation {
  /** A name for screen readers. */
  readonly label: string
  /** An element below the links. */
  readonly end?: Html
}

function toastOf(text: string): Html {
  return html`<div class="toast">${icon('check')}<span>${text}</span></div>`
}

const KEYS: readonly (readonly [readonly string[], string])[] = [
  [['/'], 'Search'],
  [['?'], 'Show this table'],
  [['j'], 'Next row'],
  [['k'], 'Previous row'],
  [['Enter'], 'Open the row'],
  [['n'], 'Next page'],
  [['b'], 'Previous page'],
  [['c'], 'Copy the id of the object'],
  [['Esc'], 'Close a dialog, leave the search'],
]

/** Returns the table of keyboard shortcuts (console reference: Keys of the keyboard). */
function keysDialog({ services }: Frame): Html {
  const groups = NAVIGATION.filter(({ service }) => service === undefined || services.includes(service))
  const ways = groups.flatMap(({ sections }) => sections).filter(({ key }) => key !== undefined)
  const rows = [...KEYS, ...ways.map(({ key = '', label }) => [['g', key], `Go to ${label.toLowerCase()}`] as const)]
  return html`<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">Keys</h2><dl class="keys">${rows.map(
    ([keys, text]) => html`<div><dt>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${text}</dd></div>`,
  )}</dl><form method="dialog"><button class="button">Close</button></form></dialog>`
}
