import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import {
  type AskedChange,
  type Changeable,
  carriedField,
  type GivenFields,
  unchangedForm,
} from '../pages/asked-change.ts'
import { choiceField, hiddenField, newPasswordField, textField } from '../pages/form.ts'
import { copyableId } from '../pages/parts.ts'
import { answerWith } from '../service-calls/service-call.ts'
import { callPath, isBanned, isThere, nameOf, type ShownUser, USERS_PATH, userPath } from './user-view.ts'

/** The button is next to a part of the user, not at the top of the page. */
const isBesidePart = (): boolean => false

export const hasId = (parts: readonly { readonly id: string }[], id: string): boolean =>
  parts.some((part) => part.id === id)

/** The addresses that identify a user in a question. If they have changed, the account may belong to another person. */
const addressesOf = ({ user: { email, phone } }: ShownUser): Readonly<Record<string, string>> => ({
  email,
  phone,
})

const OTHER_WAYS = 'The user can sign in again in any other way.'

const SignInLink = z.object({ link: z.string() })

/** The answer for a secured account: the numbers of ended sessions and removed passkeys and factors. */
const Secured = z.object({ sessions: z.int(), passkeys: z.int(), factors: z.int() })

/**
 * Changes for support: ending sessions, resending messages, removing traces of a thief, and a link by which an admin gets the
 * user's view.
 */
const HELP: readonly AskedChange<ShownUser>[] = [
  {
    name: 'end-sessions',
    action: 'sessions.end',
    label: 'Sign out everywhere',
    title: ({ user }) => `Sign ${nameOf(user)} out everywhere`,
    isOffered: ({ sessions }) => sessions.length > 0,
    consequences: ({ user }) => [
      `${nameOf(user)} is signed out on every device.`,
      'Passkeys that these sessions have registered are removed, because a thief may have made them. This cannot be undone.',
      OTHER_WAYS,
    ],
    call: (shown) => ({ method: 'DELETE', path: callPath(shown, '/sessions') }),
    answer: answerWith('ended'),
    done: 'All sessions of the user are over',
  },
  {
    name: 'end-session',
    action: 'sessions.end',
    label: 'End',
    title: ({ user }) => `End a session of ${nameOf(user)}`,
    isOffered: isBesidePart,
    consequences: ({ sessions }, { session }) => {
      const found = sessions.find(({ id }) => id === session)
      return [
        `The user is signed out of ${found?.user_agent || 'this browser'}${found?.ip ? ` at ${found.ip}` : ''}.`,
        'Passkeys that this session has registered are removed, because a thief may have made them. This cannot be undone.',
        OTHER_WAYS,
      ]
    },
    part: { field: 'session', isOf: ({ sessions }, id) => hasId(sessions, id), isEnded: true },
    fields: carriedField('session'),
    call: (shown, { session = '' }) => ({
      method: 'DELETE',
      path: callPath(shown, `/sessions/${encodeURIComponent(session)}`),
    }),
    answer: answerWith('ended'),
    done: 'The session is over',
  },
  {
    name: 'secure',
    action: 'users.secure',
    label: 'Secure',
    title: ({ user }) => `Secure the account of ${nameOf(user)}`,
    isDangerous: true,
    isOffered: isThere,
    consequences: ({ user }) => [
      'Sessions, passkeys, second factors and recovery codes that were made since this time are removed. Older ones stay.',
      `Changes of address that wait for a code end. ${nameOf(user)} can sign in again in any way that stays.`,
      'The password, the addresses and the linked identities stay: make sure that they belong to the user.',
      'This cannot be undone.',
    ],
    fields: (_shown, { since }) =>
      textField({
        name: 'since',
        label: 'Since',
        value: since,
        hint: 'When another person may have signed in, with an offset from UTC: 2026-01-02T03:04:00+01:00, or 2026-01-02T02:04:00Z.',
        isRequired: true,
        isFocused: true,
        maxLength: 40,
      }),
    call: (shown, { since = '' }) => ({
      method: 'POST',
      path: callPath(shown, '/secure'),
      body: { since: since.trim() },
    }),
    answer: Secured,
    done: (_shown, _given, answer) => {
      const { sessions, passkeys, factors } = Secured.parse(answer)
      return `The account is secured. Ended: sessions ${sessions}, passkeys ${passkeys}, second factors ${factors}`
    },
  },
  {
    name: 'resend',
    action: 'messages.resend',
    label: 'Send again',
    title: ({ messages }, { message }) => {
      const found = messages.find(({ id }) => id === message)
      return `Send the ${found?.kind === 'sms' ? 'SMS' : 'mail'} again`
    },
    isOffered: isBesidePart,
    consequences: ({ messages }, { message }) => [
      `A new message of the same kind goes to ${messages.find(({ id }) => id === message)?.to ?? 'the same address'}.`,
      'Its code and its link replace those of earlier messages.',
    ],
    part: { field: 'message', isOf: ({ messages }, id) => hasId(messages, id) },
    fields: carriedField('message'),
    call: (_shown, { message = '' }) => ({
      method: 'POST',
      path: `/operator/messages/${encodeURIComponent(message)}/resend`,
    }),
    answer: answerWith('message'),
    done: 'The message waits to be sent',
  },
  {
    name: 'sign-in-link',
    action: 'users.sign-in-as',
    label: 'Sign in as',
    title: ({ user }) => `Sign in as ${nameOf(user)}`,
    submit: 'Make a link',
    isDangerous: true,
    isOffered: (shown) => isThere(shown) && !shown.is_protected && Boolean(shown.user.email_confirmed_at),
    consequences: ({ user }) => [
      `The link signs its reader in as ${nameOf(user)}, once and within ten minutes.`,
      'The audit log keeps who made it, and why.',
      'The settings of auth may not permit it (OPERATOR_SIGN_IN_AS).',
    ],
    fields: (_shown, { reason }) =>
      textField({ name: 'reason', label: 'Reason', value: reason, isRequired: true, isFocused: true, maxLength: 255 }),
    reliesOn: addressesOf,
    call: (shown, { reason = '' }) => ({
      method: 'POST',
      path: callPath(shown, '/sign-in-link'),
      body: { reason: reason.trim() },
    }),
    answer: SignInLink,
    done: 'The link is made',
    shows: (_shown, answer) =>
      html`<p>The link is good once and for ten minutes. Open it in a private window: it replaces the session of the browser.</p><p>${copyableId(SignInLink.parse(answer).link)}</p>`,
  },
]

const DURATIONS = [
  ['1h', 'an hour'],
  ['24h', 'a day'],
  ['168h', 'seven days'],
  ['720h', 'thirty days'],
  ['876000h', 'until an operator ends the ban'],
] as const

const ROLES = [
  ['', 'none'],
  ['viewer', 'viewer: reads'],
  ['support', 'support: helps users, refunds within limits'],
  ['admin', 'admin: does everything'],
] as const

const REMAINS = [
  ['true', 'an empty record'],
  ['false', 'nothing'],
] as const

/** Changes that restore or block access. */
const ACCESS: readonly AskedChange<ShownUser>[] = [
  ...(['email', 'phone'] as const).map(
    (kind): AskedChange<ShownUser> => ({
      name: `confirm-${kind}`,
      action: 'users.confirm',
      label: `Confirm ${kind}`,
      isOffered: (shown) => isThere(shown) && shown.user[kind] !== '' && !shown.user[`${kind}_confirmed_at`],
      consequences: ({ user }) => [
        `${kind === 'phone' ? `+${user.phone}` : user.email} counts as confirmed, as if the user had entered the code of a message.`,
        'The person who signed up keeps the password and all other ways to sign in: make sure that the account belongs to that person.',
      ],
      reliesOn: ({ user }) => ({ address: user[kind] }),
      call: (shown) => ({ method: 'POST', path: callPath(shown, '/confirmation'), body: { kind } }),
      answer: answerWith('user'),
      done: kind === 'email' ? 'The email address is confirmed' : 'The phone number is confirmed',
    }),
  ),
  {
    name: 'ban',
    action: 'users.ban',
    label: 'Ban',
    title: ({ user }) => `Ban ${nameOf(user)}`,
    isDangerous: true,
    isOffered: (shown, { now }) => isThere(shown) && !isBanned(shown.user, now),
    consequences: ({ user }) => [
      `${nameOf(user)} can no longer sign in, and all their sessions pause.`,
      'You can end the ban at any time. The sessions then continue, unless you sign the user out everywhere.',
    ],
    fields: (_shown, { duration = '24h' }) =>
      choiceField({ name: 'duration', label: 'For how long', value: duration, options: DURATIONS }),
    call: (shown, { duration = '' }) => ({ method: 'PUT', path: callPath(shown, '/ban'), body: { duration } }),
    answer: answerWith('user'),
    done: 'The user is banned',
  },
  {
    name: 'end-ban',
    action: 'users.ban',
    label: 'End the ban',
    title: ({ user }) => `End the ban of ${nameOf(user)}`,
    isOffered: (shown, { now }) => isThere(shown) && isBanned(shown.user, now),
    consequences: ({ user }) => [`${nameOf(user)} can sign in again.`],
    call: (shown) => ({ method: 'DELETE', path: callPath(shown, '/ban') }),
    answer: answerWith('user'),
    done: 'The ban is over',
  },
  {
    name: 'reset-factor',
    action: 'factors.reset',
    label: 'Remove',
    title: ({ factors }, { factor }) => {
      const found = factors.find(({ id }) => id === factor)
      return `Remove the second factor ${found?.friendly_name || (found?.factor_type ?? '')}`
    },
    isDangerous: true,
    isOffered: isBesidePart,
    consequences: ({ user }) => [
      `${nameOf(user)} signs in without this second factor from now on.`,
      'Make sure that the user asks for this, and not another person: anyone with the password can sign in.',
      'This cannot be undone. The user can set up a new one.',
    ],
    part: { field: 'factor', isOf: ({ factors }, id) => hasId(factors, id), isEnded: true },
    fields: carriedField('factor'),
    call: (shown, { factor = '' }) => ({
      method: 'DELETE',
      path: callPath(shown, `/factors/${encodeURIComponent(factor)}`),
    }),
    answer: answerWith('factor'),
    done: 'The second factor is removed',
  },
]

const FORMER_EMAIL = 'former_email'
const FORMER_PHONE = 'former_phone'
/**
 * The initial role in the form. Another operator may remove the role meanwhile, and an unchanged field must not assign it again.
 */
const FORMER_ROLE = 'former_role'

/**
 * The initial addresses in the form. The user may change an address meanwhile, and an unchanged field must not restore the former
 * one.
 */
function formerAddresses({ email, phone }: ShownUser['user'], given: GivenFields) {
  return { email: given[FORMER_EMAIL] ?? email, phone: given[FORMER_PHONE] ?? phone }
}

function formerFields(user: ShownUser['user'], given: GivenFields): readonly Html[] {
  const { email, phone } = formerAddresses(user, given)
  return [hiddenField(FORMER_EMAIL, email), hiddenField(FORMER_PHONE, phone)]
}

function addressFields(
  user: ShownUser['user'],
  { email = user.email, phone = user.phone, password }: GivenFields,
): readonly Html[] {
  return [
    textField({ name: 'email', label: 'Email', type: 'email', value: email }),
    textField({
      name: 'phone',
      label: 'Phone',
      type: 'tel',
      value: phone,
      hint: 'With the code of the country, in digits.',
    }),
    newPasswordField({ label: 'New password', hint: 'Empty: the password stays.', sent: password }),
  ]
}

const ACCOUNT: readonly AskedChange<ShownUser>[] = [
  {
    name: 'change',
    action: 'users.change',
    label: 'Change',
    title: ({ user }) => `Change ${nameOf(user)}`,
    isOffered: isThere,
    consequences: () => [
      'A new address is not confirmed, so the user cannot sign in by it before it is. You can confirm it here.',
      'A new password ends all sessions of the user. Passkeys that these sessions have registered are removed.',
      'Unchanged fields keep their values.',
    ],
    fields: ({ user }, given) => html`${formerFields(user, given)}${addressFields(user, given)}`,
    call: (shown, given) => {
      const { email = '', phone = '', password = '' } = given
      const former = formerAddresses(shown.user, given)
      const body = {
        ...(email.trim() === former.email ? {} : { email: email.trim() }),
        ...(phone.trim() === former.phone ? {} : { phone: phone.trim() }),
        ...(password === '' ? {} : { password }),
      }
      if (Object.keys(body).length === 0) return unchangedForm()
      return { method: 'PUT', path: callPath(shown), body }
    },
    answer: answerWith('user'),
    done: 'The user is changed',
  },
  {
    name: 'console-role',
    action: 'users.assign-role',
    label: 'Console role',
    title: ({ user }) => `Console role of ${nameOf(user)}`,
    isOffered: (shown, { userId }) => isThere(shown) && shown.user.id !== userId,
    consequences: ({ user }) => [
      `${nameOf(user)} may use this console as the role permits.`,
      'So may anyone else who can sign in to the account: make sure that only its owner has set its password.',
      'A change of the role ends all their sessions. Passkeys that these sessions have registered are removed.',
    ],
    fields: ({ console_role: current }, { [FORMER_ROLE]: former = current ?? '', role = former }) =>
      html`${hiddenField(FORMER_ROLE, former)}${choiceField({ name: 'role', label: 'Console role', value: role, options: ROLES })}`,
    reliesOn: addressesOf,
    call: (shown, { [FORMER_ROLE]: former, role = '' }) => {
      if (role === former) return unchangedForm()
      return { method: 'PUT', path: callPath(shown, '/console-role'), body: { role: role === '' ? null : role } }
    },
    answer: answerWith('user'),
    done: 'The console role is changed',
  },
  {
    name: 'delete',
    action: 'users.delete',
    label: 'Delete',
    title: ({ user }) => `Delete ${nameOf(user)}`,
    isDangerous: true,
    isOffered: (shown, { userId }) => isThere(shown) && shown.user.id !== userId,
    consequences: ({ user }) => [
      `${nameOf(user)} loses the account, all sessions and all ways to sign in.`,
      'This cannot be undone.',
    ],
    fields: (_shown, { soft = 'true' }) =>
      choiceField({
        name: 'soft',
        label: 'Remaining data',
        value: soft,
        options: REMAINS,
        hint: 'References to the user lead to an empty record.',
      }),
    call: (shown, { soft }) => ({
      method: 'DELETE',
      path: callPath(shown),
      query: { soft: soft !== 'false' },
    }),
    answer: z.looseObject({}),
    done: 'The user is deleted',
    // A deleted user has no page, unless the deletion was soft.
    leadsTo: ({ user }, { soft }) => (soft === 'false' ? USERS_PATH : userPath(user.id)),
  },
]

export const userChanges: Changeable<ShownUser> = {
  service: 'auth',
  section: 'users',
  pathOf: ({ user }) => userPath(user.id),
  isOpenTo: ({ is_protected: isProtected }, { role }) => !isProtected || role === 'admin',
  changes: [...ACCESS, ...HELP, ...ACCOUNT],
}
