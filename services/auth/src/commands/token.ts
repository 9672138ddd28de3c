import { type Operator, toCommand } from '@trestle/common/commands/operator-command.ts'
import { parseDuration } from '@trestle/common/config/duration.ts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { OperatorDeps } from '../deps.ts'
import { issueToken } from '../use-cases/issue-token.ts'
import { getUserId } from './operator-context.ts'

/** `auth token`: prints an access token for a role, or for a user, that belongs to no session. */
export function tokenCommand(operator: Operator<OperatorDeps>): Command {
  return toCommand(operator, {
    usage: 'token',
    description: 'print an access token of a role (service_role calls /admin) or of a user; it cannot be taken back',
    options: [
      new Option('--role <role>', 'such as service_role or anon (default: service_role)')
        .argParser(readRole)
        .conflicts('user'),
      ['--user <user>', 'id, email or phone number of a user'],
      new Option('--expires-in <duration>', 'such as 90s, 12h or 8760h').argParser(readLifetime).default(3_600, '1h'),
    ],
    run: async (deps, { options: { role = 'service_role', user, expiresIn }, format }) => {
      // JWT_SECRET signs the token of a role. Only the token of a user needs the stored keys.
      if (user !== undefined) await deps.signingKeys.load()
      const subject = typeof user === 'string' ? { userId: await getUserId(deps, user) } : { role: String(role) }
      const lifetimeSeconds = Number(expiresIn)
      const { accessToken, expiresAtSeconds } = await issueToken(deps, { subject, lifetimeSeconds })
      if (format === 'text') return accessToken
      return {
        access_token: accessToken,
        token_type: 'bearer',
        expires_in: lifetimeSeconds,
        expires_at: expiresAtSeconds,
      }
    },
  })
}

function readRole(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.')
  return text
}

/** Seconds of a duration. */
function readLifetime(text: string): number {
  const seconds = Math.floor((parseDuration(text) ?? 0) / 1_000)
  if (seconds < 1) throw new InvalidArgumentError('It must be a duration such as 12h.')
  return seconds
}
