import * as common from '@trestle/common/commands/operator-command.ts'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { Command } from 'commander'
import { z } from 'zod'
import { hasCardNumberDeep } from '../cards/clear-number.ts'
import type { OperatorDeps } from '../deps.ts'

/** The ways of operators' commands to open the service's data and to print. */
export type Operator = common.Operator<OperatorDeps>

/** One command of an operator, for example `payments apps hide <id>`. */
export type OperatorCommand = common.OperatorCommand<OperatorDeps>

/** A group of commands, such as `payments apps …`. */
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

/** A single command, such as `payments prune`. It takes `--json`. */
export function toCommand(operator: Operator, command: OperatorCommand): Command {
  return common.toCommand({ ...operator, explain: explainRefusal }, withoutCardNumbers(command))
}

/** Options and words that are judged by a form of their own. */
const OWN_FORM: ReadonlySet<string> = new Set(['companyNumber', 'iban'])

/** Refuses card numbers: words and options of operators are stored and shown like the texts of the API. */
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
 * Returns an error with advice for an operator. It has:
 * - for a refused request, the fields and their problems
 * - for a statement that PostgreSQL refused to the login, the setting that the command needs
 * - for a statement that a server of the cluster did not answer, the command that names the server
 * - for another error, the error itself
 */
export function explainRefusal(error: unknown): unknown {
  const { fields = [] } = (error instanceof HttpError && Fields.safeParse(error.details).data) || {}
  if (fields.length > 0) {
    return new Error(fields.map(({ field, message }) => `${field}: ${message}`).join('; '), { cause: error })
  }
  if (!(error instanceof Error)) return error
  if (/^connection to the remote node /.test(error.message)) {
    const text = `a server of the cluster is away, so run payments doctor: ${error.message}`
    return new Error(text, { cause: error })
  }
  if (!/^permission denied/.test(error.message)) return error
  return new Error('the login of the service may not do this: set PAYMENTS_MIGRATION_DATABASE_URL', { cause: error })
}
