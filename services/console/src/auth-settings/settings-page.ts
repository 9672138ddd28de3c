import { type Html, html } from '@trestle/common/documents/html.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { badge, card, count, emptyState, factList, orDash, pageHead, tabs } from '../pages/parts.ts'
import { smallTable } from '../pages/table.ts'
import { type AuthSettings, SETTINGS_PAGES, SETTINGS_PATH } from './settings-view.ts'

/** The page of providers, hooks and limits of auth. It has no form: they are settings of the process of auth. */
export function settingsPage(settings: AuthSettings): ConsolePage {
  return {
    title: 'Settings',
    section: 'settings',
    main: html`${pageHead({ title: 'Settings' })}
${tabs('Settings', SETTINGS_PAGES, SETTINGS_PATH)}
<p class="note">These are the settings of auth. Whoever runs the service changes them.</p>
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

/** Providers that write their names otherwise than with one capital letter. */
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

/** A span of time as people say it. */
function wordsOf(seconds: number): string {
  if (seconds % 3_600 === 0) return seconds === 3_600 ? 'an hour' : `${count(seconds / 3_600)} hours`
  if (seconds % 60 === 0) return seconds === 60 ? 'a minute' : `${count(seconds / 60)} minutes`
  return seconds === 1 ? 'a second' : `${count(seconds)} seconds`
}
