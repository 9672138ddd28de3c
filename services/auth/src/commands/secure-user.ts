import type { CommandInput, OperatorCommand } from '@trestle/common/commands/operator-command.ts'
import { InvalidArgumentError, Option } from 'commander'
import { type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { OperatorDeps } from '../deps.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { SinceField } from '../requests/documented-fields.ts'
import { type SecuredUser, secureUser } from '../use-cases/secure-user.ts'
import { BY_COMMAND, OPERATOR, requireUserId } from './operator-context.ts'

/** `auth users secure`: ends what was made of a user since a time (reference: Securing an account). */
export const secureUserCommand: OperatorCommand<OperatorDeps> = {
  usage: 'secure <user>',
  description: 'end the sessions, passkeys, second factors and recovery codes that were made since a time',
  options: [
    new Option('--since <time>', 'when somebody else may have got in, such as 2026-01-02T03:04:05Z')
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

/** Records the act of a command, as that of an operator is recorded (reference: Audit log). */
function recordSecuring(userId: string, since: Date): RunWork<SecuredUser, SecuredUser> {
  return async (trx, deps, work) => {
    const secured = await work()
    const changes = { since: since.toISOString(), ...secured }
    const traits = { action: 'users.secure', object: { kind: 'user', id: userId }, changes }
    const entry = { actor: OPERATOR.actor, target: { id: userId }, ip: '', traits }
    await recordAudit(trx, deps, { action: 'operator.users.secure', ...entry })
    return secured
  }
}

/** @throws InvalidArgumentError */
function readSince(text: string): string {
  if (SinceField.safeParse(text).success) return text
  throw new InvalidArgumentError(`It ${FIELD_TEXTS.time}, such as 2026-01-02T03:04:05Z.`)
}
