#!/usr/bin/env node
import { setTimeout as pause } from 'node:timers/promises'
import { runCommandLine } from '@trestle/common/server/command-line.ts'
import { migrateCommand } from '@trestle/service/migrate-command.ts'
import { warmUpCommand } from '@trestle/service/warm-up-command.ts'
import { Command } from 'commander'
import { doctor } from './commands/doctor.ts'
import { keysCommand } from './commands/keys.ts'
import { serve } from './commands/serve.ts'
import { usersCommand } from './commands/users.ts'
import { loadAuthConfig } from './config.ts'
import { type CommandDeps, withCommandDeps } from './deps.ts'
import { migrateOptions } from './migrations.ts'
import { VERSION } from './version.ts'

const program = new Command('auth')
  .description('Users, sessions and tokens over HTTP. Settings come from AUTH_… variables and .env.')
  .option('-c, --config <file>', 'read this env file instead of .env')
  .version(VERSION)

const load = () => loadAuthConfig(process.env, program.opts<{ config?: string }>().config)
const withDeps = (run: (deps: CommandDeps) => Promise<void>) => withCommandDeps(load().config, run)
const print = (line: string) => process.stdout.write(`${line}\n`)

program
  .command('serve', { isDefault: true })
  .description('run the HTTP service (also without a command)')
  .action(() => serve(load(), process))
program.addCommand(migrateCommand(() => migrateOptions(load().config), print))
program.addCommand(warmUpCommand())
program.addCommand(keysCommand({ withDeps, print, pause }))
program.addCommand(
  usersCommand({
    withDeps,
    now: () => new Date(),
    stdin: process.stdin,
    stdout: process.stdout,
    report: (line) => process.stderr.write(`${line}\n`),
  }),
)
program
  .command('doctor')
  .description('try settings, database, mail server, keys, clock and URLs, and say what to do')
  .action(async () => {
    if (!(await doctor(load, print))) process.exitCode = 1
  })
program
  .command('version')
  .description('print the version')
  .action(() => {
    print(VERSION)
  })

await runCommandLine(program, process)
