import { html } from '@trestle/common/documents/html.ts'
import type { z } from 'zod'
import { type Changeable, changeLinks, type Viewer } from '../pages/asked-change.ts'
import { checkField, newPasswordField, textField } from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { filterForm, type ListQuery, listCard } from '../pages/list.ts'
import { breakable, emptyState, orDash, pageHead, time } from '../pages/parts.ts'
import type { Column } from '../pages/table.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { answerWith } from '../service-calls/service-call.ts'
import { nameOf, USERS_PATH, type User, type UsersView, userBadges, userPath } from './user-view.ts'

/** How operators bring new users in. */
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
        'Whoever has the password signs in, once an address is confirmed.',
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

/** The list of users. */
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
  empty: emptyState('users', query.search ? 'No user matches.' : 'Nobody has signed up yet.'),
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
