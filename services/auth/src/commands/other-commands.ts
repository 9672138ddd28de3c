import { setTimeout as pause } from 'node:timers/promises'
import { loadLibraries } from '@trestle/jobs/queue.ts'
import { migrateCommand } from '@trestle/service/migrate-command.ts'
import { warmUpCommand } from '@trestle/service/warm-up-command.ts'
import { Command } from 'commander'
import type { LoadedConfig } from '../config.ts'
import { type CommandDeps, withCommandDeps } from '../deps.ts'
import { migrateOptions } from '../migrations.ts'
import { runHashTasks } from '../passwords/hash-threads.ts'
import { VERSION } from '../version.ts'
import { doctor } from './doctor.ts'
import { keysCommand } from './keys.ts'
import { usersCommand } from './users.ts'

interface OtherCommandsOptions {
  /** Called when a command runs, so that `--help` needs no settings. */
  readonly load: () => LoadedConfig
  readonly now: () => Date
  readonly process: NodeJS.Process
}

/** Every command of the service but `serve`. */
export function otherCommands({ load, now, process }: OtherCommandsOptions): readonly Command[] {
  const { stdin, stdout, stderr } = process
  const withDeps = (run: (deps: CommandDeps) => Promise<void>) => withCommandDeps(load().config, run)
  const print = (line: string) => void stdout.write(`${line}\n`)
  const report = (line: string) => void stderr.write(`${line}\n`)
  return [
    migrateCommand(() => migrateOptions(load().config), print),
    warmUpCommand(() => Promise.all([import('./serve.ts'), loadLibraries(), runHashTasks([])])),
    keysCommand({ withDeps, print, pause }),
    usersCommand({ withDeps, now, stdin, stdout, report }),
    new Command('doctor')
      .description('try settings, database, mail server, keys, clock and URLs, and say what to do')
      .action(async () => {
        if (!(await doctor(load, print))) process.exitCode = 1
      }),
    new Command('version').description('print the version').action(() => print(VERSION)),
  ]
}
