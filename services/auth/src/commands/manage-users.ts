import { type CommandInput, numberOption, type OperatorCommand } from '@trestle/common/commands/operator-command.ts'
import { OPERATOR_ROLES } from '@trestle/operators/operator-roles.ts'
import { InvalidArgumentError, Option } from 'commander'
import { type RunWork, recordAudit, runWorkAlone } from '../audit/audit-log.ts'
import type { OperatorDeps } from '../deps.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { type GeneratedLink, LINK_TYPES, type LinkType, viewGeneratedLink } from '../one-time-tokens/verify-request.ts'
import { PAGE_NUMBER_MAX, ROWS_DEFAULT, ROWS_MAX } from '../pagination/page-query.ts'
import { NIL_UUID, parseId } from '../records/ids.ts'
import type { Timestamp } from '../records/timestamp.ts'
import { requireEmail, SinceField } from '../requests/fields.ts'
import { type ListedSession, listAllSessionsOfUser } from '../sessions/listed-session-repository.ts'
import { assignConsoleRole } from '../use-cases/assign-console-role.ts'
import { changeUserAsAdmin, deleteUserAsAdmin } from '../use-cases/change-user-as-admin.ts'
import { createUser } from '../use-cases/create-user.ts'
import { generateLink } from '../use-cases/generate-link.ts'
import { inviteUser } from '../use-cases/invite-user.ts'
import { listUsers } from '../use-cases/list-users.ts'
import { type SecuredUser, secureUser } from '../use-cases/secure-user.ts'
import { type AdminUserFields, parseAdminUser, parseUserList } from '../users/admin-user-request.ts'
import { requireMetadata } from '../users/metadata.ts'
import { getManagedProfile, type Profile } from '../users/profile-repository.ts'
import { isBanned, shownAppMetadata, type User } from '../users/user.ts'
import { viewUser } from '../users/user-view.ts'
import { BY_COMMAND, COMMAND_ADMIN, operatorContext, requireUserId } from './operator-deps.ts'

/** `auth users secure`: ends all sessions, passkeys and factors since a time (reference: Securing an account). */
const secureUserCommand: OperatorCommand<OperatorDeps> = {
  usage: 'secure <user>',
  description: 'end the sessions, passkeys, second factors and recovery codes that were made since a time',
  options: [
    new Option('--since <time>', 'when an attacker may have got in, such as 2026-01-02T03:04:05Z')
      .argParser(readSince)
      .makeOptionMandatory(),
  ],
  run: secure,
}

async function secure(deps: OperatorDeps, input: CommandInput): Promise<object> {
  const userId = await requireUserId(deps, input)
  const since = new Date(String(input.options.since))
  await deps.jobs.open()
  const secured = await secureUser(deps, { ...BY_COMMAND, userId, since }, recordSecuring(userId, since))
  return { id: userId, ...secured }
}

/** Records the change of a command in the same way as a change by an operator (reference: Audit log). */
function recordSecuring(userId: string, since: Date): RunWork<SecuredUser, SecuredUser> {
  return async (trx, deps, work) => {
    const secured = await work()
    const changes = { since: since.toISOString(), ...secured }
    const traits = { action: 'users.secure', object: { kind: 'user', id: userId }, changes }
    const entry = { actor: COMMAND_ADMIN.actor, target: { id: userId }, ip: '', traits }
    await recordAudit(trx, deps, { action: 'operator.users.secure', ...entry })
    return secured
  }
}

function readSince(text: string): string {
  if (SinceField.safeParse(text).success) return text
  throw new InvalidArgumentError(`It ${FIELD_TEXTS.time}, such as 2026-01-02T03:04:05Z.`)
}

type Command = OperatorCommand<OperatorDeps>

/** A hundred years, longer than the life of any user. */
const FOR_EVER = '876000h'

const metadataOptions = [
  new Option('--user-metadata <json>', 'an object that the user may change').argParser(readObject),
  new Option('--app-metadata <json>', 'an object that only admins change').argParser(readObject),
]

/** `auth users …`: the actions of an admin at `/admin/users`. A user is given by id, email or phone number. */
export const manageUsers: readonly Command[] = [
  {
    usage: 'list',
    description: 'list users, newest first',
    options: [
      ['--search <text>', 'part of an email, phone or full name; up to two characters are a beginning'],
      numberOption('--limit <number>', `how many, 1 to ${ROWS_MAX}`, { max: ROWS_MAX, usual: ROWS_DEFAULT }),
      numberOption('--page <number>', 'which page', { max: PAGE_NUMBER_MAX, usual: 1 }),
      ['--oldest-first', 'in the other order'],
      ['--audience <name>', 'users of another audience than AUTH_JWT_AUD'],
    ],
    run: list,
  },
  {
    usage: 'show <user>',
    description: 'show a user, with identities and factors; <user> is an id, an email or a phone number',
    run: async (deps, input) => show(deps, input, await requireUserId(deps, input)),
  },
  {
    usage: 'create',
    description: 'make a user; without --confirm, the profile says whether an invitation goes to the email',
    options: [
      ['--email <address>', 'email of the user, who needs an email, a phone number or both'],
      ['--phone <number>', 'phone number of the user'],
      ['--password <password>', 'stays in the history of your shell; without one, the user signs in by link or code'],
      ['--confirm', 'take the addresses as confirmed'],
      ['--role <role>', 'role of the tokens (default: authenticated)'],
      new Option('--id <uuid>', 'id of the user; default: a random one').argParser(readNewId),
      ...metadataOptions,
    ],
    run: create,
  },
  {
    usage: 'delete <user>',
    description: 'delete a user with everything that belongs to them',
    options: [['--soft', 'keep the row, without anything that tells who it was']],
    run: remove,
  },
  {
    usage: 'ban <user>',
    description: 'refuse sign-ins and refreshes of a user, at once',
    options: [new Option('--for <duration>', 'such as 24h').default(FOR_EVER, 'for ever')],
    run: (deps, input) => ban(deps, input, text(input.options.for)),
  },
  {
    usage: 'unban <user>',
    description: 'end a ban',
    run: (deps, input) => ban(deps, input, 'none'),
  },
  {
    usage: 'assign-role <user> <role>',
    choices: { role: [...OPERATOR_ROLES, 'none'] },
    description:
      'let a user work as an operator: viewer, support, admin, or none; ends the sessions, with the passkeys that they have registered',
    run: assignRole,
  },
  secureUserCommand,
  {
    usage: 'invite <email>',
    description: 'make a user and mail an invitation; an unconfirmed user is invited again',
    options: [
      ['--redirect-to <url>', 'where the link ends (default: AUTH_SITE_URL)'],
      new Option('--user-metadata <json>', 'an object that the user may change').argParser(readObject),
    ],
    run: invite,
  },
  {
    usage: 'link <email>',
    description: 'make a link and a code that you send by other means; no mail goes out',
    options: [
      new Option('--type <type>', 'what the link does').choices(LINK_TYPES).default('magiclink'),
      ['--new-email <address>', 'for a change of email'],
      ['--password <password>', 'for a sign-up'],
      ['--redirect-to <url>', 'where the link ends (default: AUTH_SITE_URL)'],
      new Option('--user-metadata <json>', 'for a sign-up or an invitation').argParser(readObject),
    ],
    run: link,
  },
  {
    usage: 'sessions <user>',
    description: 'list the sessions of a user, newest first',
    run: async (deps, input) => {
      const sessions = await listAllSessionsOfUser(deps.db, await requireUserId(deps, input))
      return sessions.map(input.format === 'json' ? viewSession : describeSession)
    },
  },
]

async function list(deps: OperatorDeps, { options, format }: CommandInput): Promise<object> {
  const { search, limit, page, oldestFirst, audience } = options
  const fields = { filter: text(search), per_page: String(limit), page: String(page) }
  const request = parseUserList({ ...fields, sort: oldestFirst ? 'created_at asc' : undefined }, 'page')
  const { users } = await listUsers(deps, { audience: text(audience) ?? deps.config.jwt.audience, request })
  return users.map((user) => (format === 'json' ? viewUser(user) : describeUserRow(user, deps.now())))
}

async function show(deps: OperatorDeps, { format }: CommandInput, userId: string): Promise<object> {
  const profile = await getManagedProfile(deps.pools, { userId, audience: undefined })
  return format === 'json' ? viewUser(profile) : describeUser(profile, deps.now())
}

async function create(deps: OperatorDeps, { options, format }: CommandInput): Promise<object> {
  const wanted = parseAdminUser(deps.config, {
    email: text(options.email),
    phone: text(options.phone),
    password: text(options.password),
    role: text(options.role),
    ...(options.confirm === true ? { email_confirm: true, phone_confirm: true } : {}),
    user_metadata: object(options.userMetadata),
    app_metadata: object(options.appMetadata),
  } satisfies AdminUserFields)
  await deps.jobs.open()
  const asked = { admin: COMMAND_ADMIN, id: text(options.id), wanted, context: operatorContext(deps.config) }
  const created = await createUser(deps, asked, runWorkAlone)
  return format === 'json' ? viewUser(created) : describeUser(created, deps.now())
}

async function remove(deps: OperatorDeps, input: CommandInput): Promise<object> {
  const userId = await requireUserId(deps, input)
  const manner = input.options.soft === true ? 'soft' : 'hard'
  await deleteUserAsAdmin(deps, { ...BY_COMMAND, userId, manner }, runWorkAlone)
  return { id: userId, deleted: manner }
}

async function ban(deps: OperatorDeps, input: CommandInput, duration: string | undefined): Promise<object> {
  const userId = await requireUserId(deps, input)
  const wanted = parseAdminUser(deps.config, { ban_duration: duration })
  const changed = await changeUserAsAdmin(deps, { ...BY_COMMAND, userId, wanted }, runWorkAlone)
  return input.format === 'json' ? viewUser(changed) : describeUserBriefly(changed, deps.now())
}

async function assignRole(deps: OperatorDeps, input: CommandInput): Promise<object> {
  const role = OPERATOR_ROLES.find((known) => known === input.words[1]) ?? null
  const userId = await requireUserId(deps, input)
  const changed = await assignConsoleRole(deps, { ...BY_COMMAND, userId, role }, runWorkAlone)
  return input.format === 'json' ? viewUser(changed) : describeUser(changed, deps.now())
}

async function invite(deps: OperatorDeps, { words: [email = ''], options, format }: CommandInput): Promise<object> {
  const context = operatorContext(deps.config, text(options.redirectTo))
  const data = requireMetadata(deps.config, object(options.userMetadata))
  await deps.jobs.open()
  const invited = await inviteUser(
    deps,
    { admin: COMMAND_ADMIN, email: requireEmail(email), data, context },
    runWorkAlone,
  )
  return format === 'json' ? viewUser(invited) : describeUserBriefly(invited, deps.now())
}

async function link(deps: OperatorDeps, { words: [email = ''], options, format }: CommandInput): Promise<object> {
  const type = LINK_TYPES.find((known) => known === options.type) ?? 'magiclink'
  const context = operatorContext(deps.config, text(options.redirectTo))
  await deps.jobs.open()
  const generated = await generateLink(deps, {
    admin: COMMAND_ADMIN,
    type,
    email: requireEmail(email),
    newEmail: requireNewEmail(type, text(options.newEmail)),
    password: text(options.password),
    data: requireMetadata(deps.config, object(options.userMetadata)),
    context,
  })
  return format === 'json'
    ? viewGeneratedLink(generated, context.redirectTo, deps.config.compatibility)
    : describeLink(generated)
}

function requireNewEmail(type: LinkType, newEmail: string | undefined): string {
  return type.startsWith('email_change') ? requireEmail(newEmail ?? '') : ''
}

function describeLink({ user, url, code, verificationType }: GeneratedLink): object {
  return { user: user.id, type: verificationType, link: url, code }
}

function text(option: unknown): string | undefined {
  return typeof option === 'string' ? option : undefined
}

/** Returns an option that was read by `readObject`. */
function object(option: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof option === 'object' && option !== null ? Object.fromEntries(Object.entries(option)) : undefined
}

function readNewId(text: string): string {
  const id = parseId(text)
  if (id === undefined || id === NIL_UUID) throw new InvalidArgumentError('It must be a UUID that is not all zeros.')
  return id
}

function readObject(text: string): object {
  const value = parseJson(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new InvalidArgumentError('It must be a JSON object.')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns a user as a table row that fits into 80 columns. */
function describeUserRow({ user }: Pick<Profile, 'user'>, now: Date): object {
  return {
    id: user.id,
    user: user.emailAsWritten ?? user.phone,
    state: describeState(user, now),
    lastSignIn: describeTime(user.lastSignInAt),
  }
}

/** Returns the identifiers, state and times of a user, for commands that change one. */
function describeUserBriefly({ user }: Pick<Profile, 'user'>, now: Date): object {
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

function describeUser({ user, identities, factors }: Profile, now: Date): object {
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

/** Returns the state of a user in one word. */
function describeState(user: User, now: Date): string {
  if (user.deletedAt !== null) return 'deleted'
  if (isBanned(user, now)) return 'banned'
  if (user.isAnonymous) return 'anonymous'
  if (user.confirmedAt !== null) return 'confirmed'
  return user.invitedAt === null ? 'unconfirmed' : 'invited'
}

/** Returns a session for a person: with short names, and with times without a fraction. */
function describeSession({ id, aal, startedAt, refreshedAt, endsAt, ip, userAgent }: ListedSession): object {
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

/** Returns a session for programs, with the names of the columns. */
function viewSession({ id, aal, startedAt, refreshedAt, endsAt, ip, userAgent }: ListedSession): object {
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

/** Returns a time in UTC without seconds: `2026-01-02 03:04`. */
function describeTime(timestamp: Timestamp | null): string | null {
  return timestamp === null ? null : timestamp.slice(0, 'yyyy-mm-ddThh:mm'.length).replace('T', ' ')
}
