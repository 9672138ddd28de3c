import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { type Changeable, changeLinks, type Viewer } from '../pages/asked-change.ts'
import { choiceField, textField } from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, listCard, smallTable } from '../pages/list.ts'
import { badge, card, copyableId, count, emptyState, factList, orDash, pageHead, tabs, time } from '../pages/parts.ts'
import { answerWith } from '../service-calls/service-call.ts'

/** The page has no form, because providers, hooks and limits are settings of the auth process. */
export function settingsPage(settings: AuthSettings): ConsolePage {
  return {
    title: 'Settings',
    section: 'settings',
    main: html`${pageHead({ title: 'Settings' })}
${tabs('Settings', SETTINGS_PAGES, SETTINGS_PATH)}
<p class="note">These are the settings of auth. The operator of the process changes them.</p>
${settings.warnings.map((warning) => html`<p class="alert" role="alert">Warning: ${warning}.</p>`)}
<div class="grid split"><div class="stack">
${providersCard(settings)}
${hooksCard(settings)}
</div><div class="stack">
${messagesCard(settings)}
${limitsCard(settings)}
</div></div>`,
  }
}

const stateBadge = ({ enabled }: { readonly enabled: boolean }) => (enabled ? badge('On', 'good') : badge('Off'))

/** Provider names with capitals other than the first letter. */
const WRITTEN_NAMES: ReadonlyMap<string, string> = new Map([
  ['github', 'GitHub'],
  ['gitlab', 'GitLab'],
  ['linkedin', 'LinkedIn'],
  ['workos', 'WorkOS'],
])

function writtenName(name: string): string {
  return WRITTEN_NAMES.get(name) ?? name
}

function providersCard({ providers, custom_providers: custom }: AuthSettings): Html {
  const off = providers.filter(({ enabled }) => !enabled)
  const rows = [
    ...custom.map(({ name, provider_type: type, enabled, client_id: clientId }) => [
      html`<strong>${name}</strong> <span class="soft">${type}</span>`,
      stateBadge({ enabled }),
      html`<code>${clientId}</code>`,
    ]),
    ...providers.flatMap(({ name, enabled, client_id: clientId }) =>
      enabled
        ? [
            [
              html`<strong>${writtenName(name)}</strong>`,
              stateBadge({ enabled }),
              orDash(clientId && html`<code>${clientId}</code>`),
            ],
          ]
        : [],
    ),
  ]
  const heads = ['Name', { label: 'State', kind: 'state' }, 'Client id'] as const
  return card(
    'Providers',
    html`${rows.length === 0 ? emptyState('settings', 'Users sign in without a provider.') : smallTable('Providers', heads, rows)}
${off.length === 0 ? undefined : html`<div class="card-body card-end"><p class="hint">Off</p><p class="badges">${off.map(({ name }) => badge(writtenName(name)))}</p></div>`}`,
  )
}

function hooksCard({ hooks }: AuthSettings): Html {
  const rows = hooks.map(({ name, enabled, host }) => [
    html`<code>${name}</code>`,
    stateBadge({ enabled }),
    orDash(host && html`<span class="long">${host}</span>`),
  ])
  return card('Hooks', smallTable('Hooks', ['Name', { label: 'State', kind: 'state' }, 'Host'], rows))
}

function messagesCard({ profile, mail, sms }: AuthSettings): Html {
  return card(
    'Messages',
    html`<div class="card-body">${factList([
      ['Profile', profile],
      ['Mail server', mail.host ?? 'none: no mail is sent'],
      ['Sender', mail.from],
      ['SMS by', sms.provider ?? 'none: no SMS is sent'],
    ])}</div>`,
  )
}

function limitsCard({ limits }: AuthSettings): Html {
  const rows = limits.map(({ name, value, per_seconds: seconds }) => [
    html`<code>${name}</code>`,
    value === null ? badge('Off', 'warn') : `${count(value)} in ${wordsOf(seconds)}`,
  ])
  return card('Limits', smallTable('Limits', ['Name', { label: 'At most', kind: 'state' }], rows))
}

function wordsOf(seconds: number): string {
  if (seconds % 3_600 === 0) return seconds === 3_600 ? 'an hour' : `${count(seconds / 3_600)} hours`
  if (seconds % 60 === 0) return seconds === 60 ? 'a minute' : `${count(seconds / 60)} minutes`
  return seconds === 1 ? 'a second' : `${count(seconds)} seconds`
}

const callPath = ({ kid }: SigningKey) => `/operator/keys/${encodeURIComponent(kid)}`

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

/** The settings of auth without secrets (console reference: Settings of auth). */
export const AuthSettings = z.object({
  profile: z.string(),
  providers: z.array(z.looseObject({ name: z.string(), enabled: z.boolean(), client_id: z.string().optional() })),
  custom_providers: z.array(
    z.looseObject({
      identifier: z.string(),
      name: z.string(),
      provider_type: z.string(),
      enabled: z.boolean(),
      client_id: z.string(),
    }),
  ),
  hooks: z.array(z.looseObject({ name: z.string(), enabled: z.boolean(), host: z.string().optional() })),
  limits: z.array(z.looseObject({ name: z.string(), value: z.number().nullable(), per_seconds: z.number() })),
  mail: z.looseObject({ host: z.string().optional(), from: z.string().optional() }),
  sms: z.looseObject({ provider: z.string().optional() }),
  /** Missing in earlier releases of auth. */
  warnings: z.array(z.string()).default([]),
})
export type AuthSettings = z.infer<typeof AuthSettings>

const SigningKey = z.looseObject({
  kid: z.string(),
  algorithm: z.string(),
  state: z.enum(['next', 'active', 'retired', 'over']),
  created_at: z.string(),
})
/** A signing key without its private part. */
export type SigningKey = z.infer<typeof SigningKey>
/** Newest first. */
export const SigningKeysView = z.object({ keys: z.array(SigningKey) })

const SETTINGS_PATH = '/settings'
const KEYS_PATH = '/signing-keys'
const SETTINGS_PAGES = [
  [SETTINGS_PATH, 'Providers, hooks, limits'],
  [KEYS_PATH, 'Signing keys'],
] as const
