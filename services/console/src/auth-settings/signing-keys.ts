import { html } from '@trestle/common/documents/html.ts'
import { type Changeable, changeLinks, type Viewer } from '../pages/asked-change.ts'
import { choiceField, textField } from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { listCard } from '../pages/list.ts'
import { badge, copyableId, emptyState, pageHead, tabs, time } from '../pages/parts.ts'
import type { Column } from '../pages/table.ts'
import { answerWith } from '../service-calls/service-call.ts'
import { KEYS_PATH, SETTINGS_PAGES, type SigningKey } from './settings-view.ts'

const callPath = ({ kid }: SigningKey) => `/operator/keys/${encodeURIComponent(kid)}`

/** The changes that operators make to a signing key. */
export const signingKeyChanges: Changeable<SigningKey> = {
  service: 'auth',
  section: 'settings',
  pathOf: ({ kid }) => `${KEYS_PATH}/${encodeURIComponent(kid)}`,
  shownAt: () => KEYS_PATH,
  changes: [
    {
      name: 'promotion',
      action: 'signing-keys.manage',
      label: 'Promote',
      title: ({ kid }) => `Sign with the key ${kid}`,
      isOffered: ({ state }) => state === 'next' || state === 'retired',
      consequences: () => [
        'New access tokens are signed by this key from now on.',
        'The key that signs now verifies its tokens until they have expired. No session ends.',
        'Clients must know the key: it is refused until it was published for ten minutes.',
      ],
      call: (key) => ({ method: 'POST', path: `${callPath(key)}/promotion` }),
      answer: answerWith('key'),
      done: 'The key signs',
    },
    {
      name: 'retirement',
      action: 'signing-keys.manage',
      label: 'Retire',
      title: ({ kid }) => `Retire the key ${kid}`,
      isDangerous: true,
      isOffered: ({ state }) => state === 'next',
      consequences: () => [
        'The key leaves the key set, and never signs.',
        'This cannot be undone: its id is never given again.',
      ],
      call: (key) => ({ method: 'DELETE', path: callPath(key) }),
      answer: answerWith('key'),
      done: 'The key is retired',
    },
  ],
}

/** How a signing key is added. */
export const newKeyChanges: Changeable<undefined> = {
  service: 'auth',
  section: 'settings',
  pathOf: () => KEYS_PATH,
  changes: [
    {
      name: 'new',
      action: 'signing-keys.manage',
      label: 'Add a key',
      submit: 'Add',
      title: () => 'Add a signing key',
      consequences: () => ['The key is published at once, and signs once it is promoted.'],
      fields: (_shown, { algorithm, kid }) =>
        html`${choiceField({ name: 'algorithm', label: 'Algorithm', value: algorithm, options: ALGORITHMS })}${textField({ name: 'kid', label: 'Id (optional)', value: kid, maxLength: 128, hint: 'Letters, digits, dots, colons, underscores and dashes. Empty: a random one.' })}`,
      call: (_shown, { algorithm = '', kid = '' }) => ({
        method: 'POST',
        path: '/operator/keys',
        body: { algorithm, ...(kid.trim() === '' ? {} : { kid: kid.trim() }) },
      }),
      answer: answerWith('key'),
      done: 'The key is added',
    },
  ],
}

const ALGORITHMS = [
  ['ES256', 'ES256'],
  ['EdDSA', 'EdDSA'],
  ['RS256', 'RS256'],
] as const

const STATES = {
  next: ['Waits', 'info'],
  active: ['Signs', 'good'],
  retired: ['Verifies', 'warn'],
  over: ['Over', 'plain'],
} as const

/** All signing keys, the newest first. */
export function signingKeysPage(keys: readonly SigningKey[], viewer: Viewer): ConsolePage {
  return {
    title: 'Signing keys',
    section: 'settings',
    main: html`${pageHead({ title: 'Settings', actions: changeLinks(newKeyChanges, undefined, viewer) })}
${tabs('Settings', SETTINGS_PAGES, KEYS_PATH)}
${listCard({
  label: 'Signing keys',
  path: KEYS_PATH,
  columns: keyColumns(viewer),
  rows: keys,
  next: undefined,
  query: {},
  empty: emptyState('settings', 'There is no key: the shared secret signs. Add one, so that others verify without it.'),
})}`,
  }
}

function keyColumns(viewer: Viewer): readonly Column<SigningKey>[] {
  return [
    { label: 'Key', cell: ({ kid }) => copyableId(kid) },
    { label: 'State', kind: 'state', cell: ({ state }) => badge(STATES[state][0], STATES[state][1]) },
    { label: 'Algorithm', cell: ({ algorithm }) => html`<code>${algorithm}</code>` },
    { label: 'Added', cell: ({ created_at: at }) => time(at) },
    { label: '', cell: (key) => html`<div class="actions">${changeLinks(signingKeyChanges, key, viewer)}</div>` },
  ]
}
