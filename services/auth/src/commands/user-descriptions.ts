import type { Timestamp } from '../records/timestamp.ts'
import type { ListedSession } from '../sessions/listed-session-repository.ts'
import type { Profile } from '../users/profile-repository.ts'
import { isBanned, shownAppMetadata, type User } from '../users/user.ts'

/** A user as a row of a list for people. It fits a terminal of 80 columns. */
export function describeUserRow({ user }: Pick<Profile, 'user'>, now: Date): object {
  return {
    id: user.id,
    user: user.emailAsWritten ?? user.phone,
    state: describeState(user, now),
    lastSignIn: describeTime(user.lastSignInAt),
  }
}

/** A user for people, as commands print them that change one: identifiers, state and times. */
export function describeUserBriefly({ user }: Pick<Profile, 'user'>, now: Date): object {
  return {
    id: user.id,
    email: user.emailAsWritten,
    phone: user.phone,
    state: describeState(user, now),
    ...(isBanned(user, now) ? { bannedUntil: describeTime(user.bannedUntil) } : {}),
    created: describeTime(user.createdAt),
    lastSignIn: describeTime(user.lastSignInAt),
  }
}

/** A user for people, with identities and factors. */
export function describeUser({ user, identities, factors }: Profile, now: Date): object {
  return {
    ...describeUserBriefly({ user }, now),
    audience: user.audience,
    role: user.role,
    appMetadata: shownAppMetadata(user),
    userMetadata: user.userMetadata,
    identities: identities.map(({ provider, providerId, email, lastSignInAt }) => ({
      provider,
      id: providerId,
      email,
      lastSignIn: describeTime(lastSignInAt),
    })),
    factors: factors.map(({ id, factorType, friendlyName, status }) => ({
      id,
      type: factorType,
      name: friendlyName,
      status,
    })),
  }
}

/** One word for what a user is to an operator. */
function describeState(user: User, now: Date): string {
  if (user.deletedAt !== null) return 'deleted'
  if (isBanned(user, now)) return 'banned'
  if (user.isAnonymous) return 'anonymous'
  if (user.confirmedAt !== null) return 'confirmed'
  return user.invitedAt === null ? 'unconfirmed' : 'invited'
}

/** A session as a command prints it for people: times without a fraction, and short names. */
export function describeSession({ id, aal, startedAt, refreshedAt, endsAt, ip, userAgent }: ListedSession): object {
  return {
    id,
    started: describeTime(startedAt),
    refreshed: describeTime(refreshedAt),
    ends: describeTime(endsAt),
    level: aal,
    address: ip,
    userAgent,
  }
}

/** A session for programs, with the names of the columns. */
export function viewSession({ id, aal, startedAt, refreshedAt, endsAt, ip, userAgent }: ListedSession): object {
  return {
    id,
    aal,
    created_at: startedAt,
    refreshed_at: refreshedAt,
    not_after: endsAt,
    ip,
    user_agent: userAgent,
  }
}

/** A time in UTC by the minute: `2026-01-02 03:04`. */
function describeTime(timestamp: Timestamp | null): string | null {
  return timestamp === null ? null : timestamp.slice(0, 'yyyy-mm-ddThh:mm'.length).replace('T', ' ')
}
