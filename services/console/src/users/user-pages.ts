import { type Html, html } from '@trestle/common/documents/html.ts'
import type { z } from 'zod'
import { type Changeable, changeLinks, partChangeLink, roleNote, type Viewer } from '../pages/asked-change.ts'
import { checkField, newPasswordField, textField } from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, filterForm, type ListQuery, listCard, smallTable } from '../pages/list.ts'
import {
  badge,
  breakable,
  card,
  copyableId,
  emptyState,
  factList,
  icon,
  jsonText,
  orDash,
  pageHead,
  time,
} from '../pages/parts.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { answerWith } from '../service-calls/service-call.ts'
import { MESSAGE_TONES, mayBeResent, messagesPath } from './message-list.ts'
import { userChanges } from './user-changes.ts'
import {
  nameOf,
  type Reason,
  type ShownUser,
  USERS_PATH,
  type User,
  type UsersView,
  userBadges,
  userPath,
} from './user-view.ts'

/** The page of a user. The reasons why the user cannot sign in come first. */
export function userPage(shown: ShownUser, viewer: Viewer): ConsolePage {
  const { user, why_not: reasons } = shown
  return {
    title: nameOf(user),
    section: 'users',
    main: html`${pageHead({
      title: nameOf(user),
      above: { label: 'Users', path: USERS_PATH },
      badges: userBadges(user, viewer.now),
      facts: [copyableId(user.id), html`<span>since ${time(user.created_at)}</span>`],
      actions: changeLinks(userChanges, shown, viewer),
      note: roleNote(userChanges, shown, viewer),
    })}
${reasonsNotice(reasons)}
<div class="grid split"><div class="stack">
${sessionsCard(shown, viewer)}
${factorsCard(shown, viewer)}
${messagesCard(shown, viewer)}
${auditCard(shown)}
</div><div class="stack">
${profileCard(shown)}
${identitiesCard(shown)}
${metadataCard(shown)}
</div></div>`,
  }
}

/** Reasons that do not prevent a sign-in by themselves. */
const HARMLESS: ReadonlySet<string> = new Set(['factor_required', 'no_password'])

function reasonsNotice(reasons: readonly Reason[]): Html {
  const obstacles = reasons.filter(({ code }) => !HARMLESS.has(code))
  const notes = reasons.filter(({ code }) => HARMLESS.has(code))
  const lines = html`<ul>${[...obstacles, ...notes].map((reason) => html`<li>${reasonText(reason)}</li>`)}</ul>`
  if (obstacles.length === 0) {
    return html`<div class="notice good">${icon('check')}<div><h2>Nothing keeps this user from signing in</h2>${notes.length === 0 ? undefined : lines}</div></div>`
  }
  return html`<div class="notice bad">${icon('disputes')}<div><h2>Why this user cannot sign in</h2>${lines}</div></div>`
}

function reasonText({ code, until, at, error, provider }: Reason): Html {
  switch (code) {
    case 'banned':
      return html`Banned until ${time(until)}.`
    case 'deleted':
      return html`Deleted ${time(at)}.`
    case 'email_not_confirmed':
      return html`The email address is not confirmed.`
    case 'phone_not_confirmed':
      return html`The phone number is not confirmed.`
    case 'no_password':
      return html`The user has no password. Other ways may be open.`
    case 'message_failed':
      return html`The newest message was not delivered: ${error ?? 'no reason is known'}.`
    case 'provider_disabled':
      return html`The only way in is ${provider ?? 'a provider'}, which is switched off.`
    case 'factor_required':
      return html`A second factor is asked for at each sign-in.`
    default:
      return html`${code}`
  }
}

function profileCard({ user, console_role: consoleRole }: ShownUser): Html {
  const { email, phone, role, email_confirmed_at: emailConfirmed, phone_confirmed_at: phoneConfirmed } = user
  const confirmed = (address: string, at: string | null | undefined) =>
    address === ''
      ? undefined
      : html`${breakable(address)} ${at ? badge('Confirmed', 'good') : badge('Not confirmed', 'warn')}`
  return card(
    'Profile',
    html`<div class="card-body">${factList([
      ['Email', confirmed(email, emailConfirmed)],
      ['Phone', confirmed(phone && `+${phone}`, phoneConfirmed)],
      ['Role', role],
      ['Console role', consoleRole ?? undefined],
      ['Last sign-in', user.last_sign_in_at ? time(user.last_sign_in_at) : 'never'],
      ['Invited', user.invited_at ? time(user.invited_at) : undefined],
      ['Changed', time(user.updated_at)],
    ])}</div>`,
  )
}

function metadataCard({ user }: ShownUser): Html {
  const { app_metadata: ofApp, user_metadata: ofUser } = user
  return card(
    'Metadata',
    html`<div class="card-body stack"><h3>Of the application</h3><pre tabindex="0">${jsonText(ofApp)}</pre><h3>Of the user</h3><pre tabindex="0">${jsonText(ofUser)}</pre></div>`,
  )
}

function identitiesCard({ identities }: ShownUser): Html {
  if (identities.length === 0) return card('Identities', emptyState('users', 'This user has no identity.'))
  return card(
    'Identities',
    html`<ul class="card-body lines">${identities.map(
      (identity) =>
        html`<li><strong>${identity.provider}</strong><span>${breakable(identity.email ?? identity.id)}</span><span class="hint">${useOf(identity)}</span></li>`,
    )}</ul>`,
  )
}

/** The last use of an identity. Auth does not record it for emails and phones: their time is the last sign-in of the user. */
function useOf({ provider, last_sign_in_at: at, created_at: created }: ShownUser['identities'][number]): Html | string {
  if (at) return html`last sign-in ${time(at)}`
  return provider === 'email' || provider === 'phone' ? html`since ${time(created)}` : 'never used'
}

const FACTOR_KINDS: Readonly<Record<string, string>> = {
  totp: 'Authenticator app',
  phone: 'Phone',
  webauthn: 'Security key',
}

function factorsCard(shown: ShownUser, viewer: Viewer): Html {
  const { factors, passkeys } = shown
  const title = 'Second factors and passkeys'
  if (factors.length + passkeys.length === 0) {
    return card(title, emptyState('settings', 'This user has no second factor and no passkey.'))
  }
  const rows = [
    ...factors.map(({ id, factor_type: type, status, friendly_name: name, created_at: at }) => [
      html`<strong>${name || type}</strong> ${badge(status, status === 'verified' ? 'good' : 'warn')}`,
      FACTOR_KINDS[type] ?? type,
      time(at),
      html`${partChangeLink(userChanges, { name: 'reset-factor', shown, given: { factor: id } }, viewer)}`,
    ]),
    ...passkeys.map(({ friendly_name: name, created_at: at }) => [
      html`<strong>${name || 'Passkey'}</strong>`,
      'Passkey',
      time(at),
      '',
    ]),
  ]
  return card(title, smallTable(title, ['Name', 'Kind', 'Since', ''], rows))
}

function sessionsCard(shown: ShownUser, viewer: Viewer): Html {
  if (shown.sessions.length === 0) return card('Sessions', emptyState('users', 'No open session.'))
  const rows = shown.sessions.map(({ id, user_agent: agent, ip, aal, refreshed_at: used, created_at: made }) => [
    html`<span title="${agent ?? ''}">${browserName(agent ?? '')}</span> ${aal === 'aal2' ? badge('Second factor', 'good') : undefined}`,
    html`<code>${ip ?? '–'}</code>`,
    time(used ?? made),
    html`${partChangeLink(userChanges, { name: 'end-session', shown, given: { session: id } }, viewer)}`,
  ])
  return card('Sessions', smallTable('Sessions', ['Browser', 'Address', 'Last used', ''], rows))
}

/** Browsers by unique parts of their user agents. Most of them also claim to be Chrome and Safari. */
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const
const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** A browser and system in two words, from the user agent. Programs keep their own name. */
function browserName(agent: string): string {
  const browser = BROWSERS.find(([mark]) => agent.includes(mark))?.[1]
  const system = SYSTEMS.find(([mark]) => agent.includes(mark))?.[1]
  if (browser === undefined || system === undefined) return agent === '' ? 'unknown' : agent
  return `${browser}, ${system}`
}

function messagesCard(shown: ShownUser, viewer: Viewer): Html {
  const { user, messages } = shown
  const all = html`<a class="button quiet" href="${messagesPath({ user: user.id })}">All messages</a>`
  if (messages.length === 0) return card('Messages', emptyState('mail', 'No mail and no SMS was sent.'))
  const rows = messages.map(({ id, kind, purpose, to, status, created_at: at, error }) => [
    html`<strong>${purpose}</strong> ${badge(status, MESSAGE_TONES[status])}${error ? html`<p class="hint">${error}</p>` : undefined}`,
    html`<span class="long">${kind} to ${to}</span>`,
    time(at),
    html`${mayBeResent(purpose) ? partChangeLink(userChanges, { name: 'resend', shown, given: { message: id } }, viewer) : undefined}`,
  ])
  const heads = ['Message', { label: 'To', kind: 'bare' }, { label: 'At', kind: 'when' }, ''] as const
  return card('Messages', smallTable('Messages', heads, rows), all)
}

function auditCard({ audit }: ShownUser): Html {
  if (audit.length === 0) return card('Audit', emptyState('audit', 'Nothing is in the audit log.'))
  return card(
    'Audit',
    html`<ol class="card-body timeline">${audit.map(
      ({ payload, created_at: at }) =>
        html`<li><strong>${String(payload.action ?? 'entry')}</strong> <span class="soft">${payload.actor_username ? `by ${String(payload.actor_username)} · ` : ''}${time(at)}</span></li>`,
    )}</ol>`,
  )
}

export const newUserChanges: Changeable<undefined> = {
  service: 'auth',
  section: 'users',
  pathOf: () => USERS_PATH,
  changes: [
    {
      name: 'invite',
      action: 'users.invite',
      label: 'Invite',
      title: () => 'Invite a user',
      consequences: () => ['A mail with a link to sign in goes to the address.', 'The link confirms the address.'],
      fields: (_shown, { email }) =>
        textField({ name: 'email', label: 'Email', type: 'email', value: email, isRequired: true, isFocused: true }),
      call: (_shown, { email = '' }) => ({
        method: 'POST',
        path: '/operator/users/invitations',
        body: { email: email.trim() },
      }),
      answer: answerWith('user'),
      done: (_shown, { email = '' }) => `${email.trim()} is invited`,
    },
    {
      name: 'new',
      action: 'users.create',
      label: 'New user',
      submit: 'Create',
      isMain: true,
      consequences: () => [
        'The user exists at once.',
        'Unless the profile of auth is supabase, an address that is not confirmed gets a link that signs in.',
        'Anyone with the password can sign in, once an address is confirmed.',
      ],
      fields: (_shown, { email, password, confirmed }) =>
        html`${textField({ name: 'email', label: 'Email', type: 'email', value: email, isRequired: true, isFocused: true })}${newPasswordField({ label: 'Password (optional)', hint: undefined, sent: password })}${checkField({ name: 'confirmed', label: 'The address is confirmed', isChecked: confirmed === 'yes' })}`,
      call: (_shown, { email = '', password = '', confirmed }) => ({
        method: 'POST',
        path: '/operator/users',
        body: {
          email: email.trim(),
          email_confirm: confirmed === 'yes',
          ...(password === '' ? {} : { password }),
        },
      }),
      answer: answerWith('user'),
      done: (_shown, { email = '' }) => `${email.trim()} is created`,
    },
  ],
}

export function usersPage(
  query: z.infer<typeof ListQuery>,
  { value, next }: Listed<z.infer<typeof UsersView>>,
  viewer: Viewer,
): ConsolePage {
  return {
    title: 'Users',
    section: 'users',
    main: html`${pageHead({ title: 'Users', actions: changeLinks(newUserChanges, undefined, viewer) })}
${filterForm({ path: USERS_PATH, search: query.search, placeholder: 'Email, phone, name, id or provider id' })}
${listCard({
  label: 'Users',
  path: USERS_PATH,
  columns: userColumns(viewer.now),
  rows: value.users,
  next,
  query: { ...query },
  empty: emptyState('users', query.search ? 'No user matches.' : 'No users yet.'),
})}`,
  }
}

function userColumns(now: Date): readonly Column<User>[] {
  return [
    {
      label: 'User',
      cell: (user) => html`<a class="main-link" href="${userPath(user.id)}">${breakable(nameOf(user))}</a>`,
    },
    {
      label: 'State',
      kind: 'state',
      cell: (user) => html`<span class="badges">${userBadges(user, now)}</span>`,
    },
    { label: 'Phone', kind: 'wide', cell: ({ phone }) => orDash(phone && `+${phone}`) },
    {
      label: 'Signs in by',
      kind: 'wide',
      cell: ({ identities }) => orDash([...new Set(identities.map(({ provider }) => provider))].join(', ')),
    },
    { label: 'Last sign-in', kind: 'gone', cell: ({ last_sign_in_at: at }) => time(at) },
    { label: 'Created', kind: 'created', cell: ({ created_at: at }) => time(at) },
  ]
}
