import type { Html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { badge } from '../pages/parts.ts'

const stamp = () => z.string().nullish()

const Identity = z.looseObject({
  identity_id: z.string().optional(),
  id: z.string(),
  provider: z.string(),
  email: z.string().optional(),
  last_sign_in_at: stamp(),
  created_at: stamp(),
})
const Factor = z.looseObject({
  id: z.string(),
  factor_type: z.string(),
  status: z.string(),
  friendly_name: z.string().optional(),
  created_at: stamp(),
})

/** A user in the form of auth (auth reference: User record). */
export const User = z.looseObject({
  id: z.string(),
  role: z.string(),
  email: z.string().default(''),
  phone: z.string().default(''),
  email_confirmed_at: stamp(),
  phone_confirmed_at: stamp(),
  invited_at: stamp(),
  last_sign_in_at: stamp(),
  created_at: stamp(),
  updated_at: stamp(),
  banned_until: stamp(),
  deleted_at: stamp(),
  is_anonymous: z.boolean().default(false),
  app_metadata: z.record(z.string(), z.unknown()).default({}),
  user_metadata: z.record(z.string(), z.unknown()).default({}),
  identities: z.array(Identity).default([]),
  factors: z.array(Factor).default([]),
})
export type User = z.infer<typeof User>

export const UsersView = z.object({ users: z.array(User) })

const Session = z.looseObject({
  id: z.string(),
  created_at: stamp(),
  refreshed_at: stamp(),
  aal: z.string().nullish(),
  ip: z.string().nullish(),
  user_agent: z.string().nullish(),
})
const Message = z.looseObject({
  id: z.string(),
  user_id: z.string(),
  kind: z.string(),
  purpose: z.string(),
  to: z.string(),
  status: z.enum(['waiting', 'sent', 'failed']),
  created_at: stamp(),
  error: z.string().nullish(),
})
/** A mail or an SMS (console reference: Messages of operators). */
export type Message = z.infer<typeof Message>
const Reason = z.looseObject({
  code: z.string(),
  until: z.string().nullish(),
  at: z.string().nullish(),
  error: z.string().nullish(),
  provider: z.string().nullish(),
})
/** The reason why a user cannot sign in, with the values in its text. */
export type Reason = z.infer<typeof Reason>
const Entry = z.looseObject({ id: z.string(), payload: z.record(z.string(), z.unknown()), created_at: stamp() })

export const MessagesView = z.object({ messages: z.array(Message) })

/** A user with all facts for support (console reference: User of operators). */
export const ShownUser = z.object({
  user: User,
  console_role: z.string().nullable(),
  is_protected: z.boolean(),
  identities: z.array(Identity),
  factors: z.array(Factor),
  passkeys: z.array(z.looseObject({ id: z.string(), friendly_name: z.string().nullish(), created_at: stamp() })),
  sessions: z.array(Session),
  messages: z.array(Message),
  audit: z.array(Entry),
  why_not: z.array(Reason),
})
export type ShownUser = z.infer<typeof ShownUser>

export const USERS_PATH = '/users'

export function userPath(id: string): string {
  return `${USERS_PATH}/${encodeURIComponent(id)}`
}

/** The name of a user on pages: the email, otherwise the phone, otherwise a text about the missing addresses. */
export function nameOf({ email, phone, is_anonymous }: Pick<User, 'email' | 'phone' | 'is_anonymous'>): string {
  if (email !== '') return email
  if (phone !== '') return `+${phone}`
  return is_anonymous ? 'Anonymous user' : 'User without an address'
}

export function isBanned({ banned_until }: Pick<User, 'banned_until'>, now: Date): boolean {
  return banned_until !== null && banned_until !== undefined && Date.parse(banned_until) > now.getTime()
}

/** Badges for the states of a user that matter to support. */
export function userBadges(user: User, now: Date): readonly Html[] {
  const role = user.app_metadata.console_role
  return [
    ...(user.deleted_at ? [badge('Deleted', 'bad')] : []),
    ...(isBanned(user, now) ? [badge('Banned', 'bad')] : []),
    ...(user.is_anonymous ? [badge('Anonymous')] : []),
    ...(!user.is_anonymous && !user.email_confirmed_at && !user.phone_confirmed_at
      ? [badge('Not confirmed', 'warn')]
      : []),
    ...(typeof role === 'string' ? [badge(`Operator: ${role}`, 'info')] : []),
  ]
}

/** Returns the path at auth for a change of a user. */
export function callPath({ user }: Pick<ShownUser, 'user'>, below = ''): string {
  return `/operator/users/${encodeURIComponent(user.id)}${below}`
}

/** Whether a user can still be changed. */
export function isThere({ user }: Pick<ShownUser, 'user'>): boolean {
  return !user.deleted_at
}
