import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findSuggestion } from '@trestle/common/errors/suggestion.ts'
import { followLogs, showLastLines } from '../log-lines/show-logs.ts'
import { planStack } from '../settings/plan.ts'
import { services } from '../settings/services.ts'
import { watchStopSignals } from '../stack.ts'
import { StackFailure } from '../stack-failure.ts'
import type { CommandContext } from './command-context.ts'

export interface LogsRequest {
  /** Names of services, or `postgres`. If empty, all services. */
  readonly names: readonly string[]
  readonly onlyErrors: boolean
  /** The number of older lines to show. */
  readonly lineCount: number
  /** Whether to show new lines as they are written. */
  readonly isFollowed: boolean
}

/**
 * Shows the logs of the stack of this checkout. If requested, follows the logs until Ctrl-C.
 *
 * @throws StackFailure for an unknown name, and if there are no logs yet
 */
export async function showLogs(context: CommandContext, request: LogsRequest): Promise<void> {
  const { logDirectory } = planStack({ ...context, names: [], isWatched: false })
  const names = chooseLogs(request.names).filter((name) => existsSync(join(logDirectory, `${name}.log`)))
  if (names.length === 0)
    throw new StackFailure([`${logDirectory} has no such log yet. Start the stack first: npm start`])
  const options = { directory: logDirectory, names, onlyErrors: request.onlyErrors, say: context.say }
  const sizes = showLastLines(options, request.lineCount)
  if (request.isFollowed)
    await followLogs(options, sizes).showAll(
      watchStopSignals({ isUnderNpm: process.env.npm_lifecycle_event !== undefined }),
    )
}

function chooseLogs(names: readonly string[]): readonly string[] {
  const ofServices = services.map(({ name }) => name)
  const known = [...ofServices, 'postgres']
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length === 0) return names.length === 0 ? ofServices : names
  throw new StackFailure(
    unknown.map((name) => {
      const meant = findSuggestion(name, known)
      const question = meant === undefined ? '' : ` Did you mean ${meant}?`
      return `There is no log "${name}". The logs are ${known.join(', ')}.${question}`
    }),
  )
}
