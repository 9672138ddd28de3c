import { setTimeout as pause } from 'node:timers/promises'
import type { Operator } from '@trestle/common/commands/operator-command.ts'
import { terminalOf } from '@trestle/common/commands/table.ts'
import { type CommandLoaders, loadAll } from '@trestle/common/lifecycle/command-line.ts'
import { Command } from 'commander'
import type { AuthConfig } from '../config.ts'
import type { OperatorDeps } from '../deps.ts'
import { VERSION } from '../version.ts'

interface OtherCommandsOptions {
  /** Called when a command runs, because `--help` needs no settings. */
  readonly load: () => AuthConfig
  readonly now: () => Date
  readonly process: NodeJS.Process
}

export function otherCommands({ load, now, process }: OtherCommandsOptions): CommandLoaders {
  const { stdin, stdout, stderr } = process
  const print = (line: string) => void stdout.write(`${line}\n`)
  const ask = async (question: string) => (await import('../adoption/entry.ts')).askOn(stdin, stdout, question)
  const openAdoption = async () => (await import('./operator-deps.ts')).createQuietDeps(load())
  const report = (line: string) => void stderr.write(`${line}\n`)
  const operator: Operator<OperatorDeps> = {
    open: async () => (await import('./operator-deps.ts')).openOperatorDeps(load()),
    print,
    terminal: terminalOf(stdout),
  }
  const loaders: CommandLoaders = {
    migrate: async () => {
      const { migrateCommand } = await import('@trestle/service/migrate-command.ts')
      const { migrateOptions } = await import('../migrations.ts')
      return migrateCommand(() => migrateOptions(load()), print)
    },
    'warm-up': async () => {
      const { warmUpCommand } = await import('@trestle/common/commands/warm-up-command.ts')
      const { loadLibraries } = await import('@trestle/jobs/queue.ts')
      const { runHashTasks } = await import('../passwords/password-hasher.ts')
      return warmUpCommand(() =>
        Promise.all([
          import('./serve.ts'),
          loadLibraries(),
          runHashTasks([]),
          import('./operator-deps.ts'),
          ...loadAll(loaders),
        ]),
      )
    },
    keys: async () => (await import('./keys.ts')).keysCommand(operator, pause),
    users: async () => (await import('./users.ts')).usersCommand({ operator, now, stdin, stdout, report }),
    adopt: async () => (await import('../adoption/entry.ts')).adoptCommand(openAdoption, { print, ask }),
    import: async () => (await import('../adoption/entry.ts')).importCommand(openAdoption, { print, ask }),
    token: async () => (await import('./keys.ts')).tokenCommand(operator),
    doctor: async () => {
      const { doctor } = await import('./doctor.ts')
      return new Command('doctor')
        .description(
          'check settings, log file, database, migrations, clock, signing keys, mail server, URLs, SMS gateway, phone numbers, mail templates, rate limits, schema, adoption and dead jobs, and say what to do',
        )
        .option(
          '--env <file>',
          'say of each setting of a Supabase installation (its Compose file or .env) what becomes of it',
        )
        .action(async ({ env }: { readonly env?: string }) => {
          const judgeFile = async (path: string) =>
            (await import('./judge-installation.ts')).judgeInstallation(path, print)
          if (!(await (env === undefined ? doctor(load, print) : judgeFile(env)))) process.exitCode = 1
        })
    },
    version: async () => new Command('version').description('print the version').action(() => print(VERSION)),
  }
  return loaders
}
