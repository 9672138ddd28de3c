import * as common from '@trestle/common/commands/operator-command.ts'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { Command } from 'commander'
import { z } from 'zod'
import { hasCardNumberDeep } from '../cards/clear-number.ts'
import type { OperatorDeps } from '../deps.ts'

/** The functions by which an operator's command opens the dependencies and prints. */
export type Operator = common.Operator<OperatorDeps>

/** One command of an operator, for example `payments apps hide <id>`. */
export type OperatorCommand = common.OperatorCommand<OperatorDeps>

/** Returns a group of commands, such as `payments apps …`. */
export function commandGroup(
  operator: Operator,
  name: string,
  description: string,
  commands: readonly OperatorCommand[],
): Command {
  return common.commandGroup(
    { ...operator, explain: explainRefusal },
    name,
    description,
    commands.map(withoutCardNumbers),
  )
}

/** Returns a single command, such as `payments prune`, with the option `--json`. */
export function toCommand(operator: Operator, command: OperatorCommand): Command {
  return common.toCommand({ ...operator, explain: explainRefusal }, withoutCardNumbers(command))
}

/** Arguments and options with a strict format of their own. Their values may look like card numbers. */
const OWN_FORM: ReadonlySet<string> = new Set(['companyNumber', 'iban'])

/** Refuses arguments and options that contain a card number, because they are stored and shown like texts from the API. */
function withoutCardNumbers(command: OperatorCommand): OperatorCommand {
  return {
    ...command,
    run: (deps, input) => {
      const names = [...command.usage.matchAll(/<(\w+)/g)].map(([, name = '']) => name)
      const words = input.words.map((word, at) => [names[at] ?? '', word] as const)
      const judged = [...words, ...Object.entries(input.options)].filter(([name]) => !OWN_FORM.has(name))
      if (hasCardNumberDeep(judged.map(([, value]) => value))) throw new Error('card numbers are not taken')
      return command.run(deps, input)
    },
  }
}

const Fields = z.object({ fields: z.array(z.object({ field: z.string(), message: z.string() })) })

/**
 * Returns the error that an operator sees:
 * - If a request is refused, the error lists the fields and their problems.
 * - If PostgreSQL denies permission, the error names the setting that the command needs.
 * - If a server of the cluster does not answer, the error names the command that finds the server.
 * - Otherwise the error is returned unchanged.
 */
export function explainRefusal(error: unknown): unknown {
  const { fields = [] } = (error instanceof HttpError && Fields.safeParse(error.details).data) || {}
  if (fields.length > 0) {
    return new Error(fields.map(({ field, message }) => `${field}: ${message}`).join('; '), { cause: error })
  }
  if (!(error instanceof Error)) return error
  if (/^connection to the remote node /.test(error.message)) {
    const text = `a server of the cluster is unavailable, so run payments doctor: ${error.message}`
    return new Error(text, { cause: error })
  }
  if (!/^permission denied/.test(error.message)) return error
  return new Error('the login of the service may not do this: set PAYMENTS_MIGRATION_DATABASE_URL', { cause: error })
}
