import { html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { type AskedChange, carriedField } from '../pages/asked-change.ts'
import { textField } from '../pages/form.ts'
import { copyableId } from '../pages/parts.ts'
import { answerWith } from '../service-calls/service-call.ts'
import { callPath, isThere, nameOf, type ShownUser } from './user-view.ts'

/** Beside a part of the user, not above the page. */
export const isBesidePart = (): boolean => false

/** Whether one of the parts has an id. */
export const hasId = (parts: readonly { readonly id: string }[], id: string): boolean =>
  parts.some((part) => part.id === id)

/** The addresses by which a question names a user. An account whose addresses were changed may be that of somebody else. */
export const addressesOf = ({ user: { email, phone } }: ShownUser): Readonly<Record<string, string>> => ({
  email,
  phone,
})

const OTHER_WAYS = 'The user can sign in again in any other way.'

/** The answer with a link that signs in. */
const SignInLink = z.object({ link: z.string() })

/** The answer to a secured account: how many have ended. */
const Secured = z.object({ sessions: z.int(), passkeys: z.int(), factors: z.int() })

/**
 * The sessions and messages that support ends and sends again for a user, the end of what a thief may have made,
 * and the link by which an admin sees what the user sees.
 */
export const HELP: readonly AskedChange<ShownUser>[] = [
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
        hint: 'When somebody else may have got in, with an offset from UTC: 2026-01-02T03:04:00+01:00, or 2026-01-02T02:04:00Z.',
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
      `Whoever opens the link is signed in as ${nameOf(user)}, once and within ten minutes.`,
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
