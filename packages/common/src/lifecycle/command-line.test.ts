import { EventEmitter } from 'node:events'
import { Command, Option } from 'commander'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ConfigError } from '../config/environment.ts'
import { configFile, createProgram, runCommandLine } from './command-line.ts'

/** Returns a process with these arguments that records its exits instead of ending. */
function startedWith(...words: readonly string[]) {
  const exits: number[] = []
  const reports: string[] = []
  const exit = (code: number): never => {
    exits.push(code)
    // Throw, because no code runs after a real exit either.
    throw new Error('exited')
  }
  const output: string[] = []
  const stdout = Object.assign(new EventEmitter(), { write: (text: string) => void output.push(text) })
  const stderr = { write: (text: string) => void reports.push(text) }
  const process = Object.assign(new EventEmitter(), { argv: ['node', 'main.ts', ...words], exit, stdout, stderr })
  return { exits, reports, output, stdout, process }
}

it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s ends a command that runs, also as the first process of a container', (signal, status) => {
  const { exits, process } = startedWith()
  void runCommandLine(new Command(), process, { serve: () => new Promise(() => {}), loadOthers: async () => ({}) })
  expect(() => process.emit(signal)).toThrow('exited')
  expect(exits).toEqual([status])
})

it.each([
  [[], ['serve']],
  [['serve'], ['serve']],
  [['doctor'], ['load', 'load doctor', 'doctor']],
  [['-c', 'file'], ['serve']],
  [
    ['-c', 'file', 'doctor'],
    ['load', 'load doctor', 'doctor'],
  ],
])('loads the other commands only when one of them runs: %j', async (words, expected) => {
  const calls: string[] = []
  const loader = (name: string) => async () => {
    calls.push(`load ${name}`)
    return new Command(name).action(() => void calls.push(name))
  }
  await runCommandLine(new Command().option('-c <file>'), startedWith(...words).process, {
    serve: async () => void calls.push('serve'),
    loadOthers: async () => {
      calls.push('load')
      return { doctor: loader('doctor'), version: loader('version') }
    },
  })
  expect(calls).toEqual(expected)
})

it.each([
  ['EPIPE', { exits: [141], reports: [] }],
  ['ENOSPC', { exits: [1], reports: ['write ENOSPC\n'] }],
])('ends a command when its output cannot be written: %s', async (code, expected) => {
  const { exits, reports, stdout, process } = startedWith('doctor')
  const fail = () => stdout.emit('error', Object.assign(new Error(`write ${code}`), { code }))
  await runCommandLine(new Command(), process, {
    serve: async () => {},
    loadOthers: async () => ({
      doctor: async () => new Command('doctor').action(() => expect(fail).toThrow('exited')),
    }),
  })
  expect({ exits, reports }).toEqual(expected)
})

/** Runs the program `shop`, which has commands `stock list`, `stock receive` and `fail`, and returns what a shell sees. */
async function run(words: readonly string[], failure: unknown = new Error('broken')) {
  const { exits, reports, output, process } = startedWith(...words)
  const program = createProgram({ name: 'shop', description: 'A shop.', version: '1.2.3' })
  const calls: unknown[] = []
  const stock = async () => {
    const group = new Command('stock').description('stock of the shop')
    group.command('list').action(() => void calls.push('list'))
    const kind = new Option('--kind <kind>', 'why').choices(['new', 'returned'])
    group
      .command('receive <id>')
      .addOption(kind)
      .action((id: string, options: object) => void calls.push([id, options]))
    return group
  }
  const fail = async () =>
    new Command('fail').description('fails').action(() => {
      throw failure
    })
  await runCommandLine(program, process, {
    serve: async () => void calls.push(['serve', configFile(program)]),
    loadOthers: async () => ({ stock, fail }),
    insteadOf: { stocks: 'stock, or /stock of the API', 'stock ship': '/movements of the API' },
    explainFailure: (error, name) => (error instanceof RangeError ? `${name}: receive stock first` : undefined),
  }).catch((error: unknown) => expect(error).toEqual(new Error('exited')))
  return { status: exits[0] ?? 0, out: output.join(''), err: reports.join(''), calls }
}

const ran = (...calls: readonly unknown[]) => ({ status: 0, out: '', err: '', calls })
const refused = (status: number, err: string) => ({ status, out: '', err: `${err}\n`, calls: [] })

function withStack(error: Error, stack: string): Error {
  return Object.assign(error, { stack })
}

describe('a program', () => {
  it.each([
    [[], ran(['serve', { path: '.env', isRequired: false }])],
    [['-c', 'a.env'], ran(['serve', { path: 'a.env', isRequired: true }])],
    [['--config=a.env', 'serve'], ran(['serve', { path: 'a.env', isRequired: true }])],
    [['stock', 'list'], ran('list')],
    [['-c', 'a.env', 'stock', 'list'], ran('list')],
    [['stock', 'receive', '7', '--kind', 'new'], ran(['7', { kind: 'new' }])],
    [['--version'], { status: 0, out: '1.2.3\n', err: '', calls: [] }],
  ])('gives the words %j to their command, or to serve', async (words, expected) => {
    expect(await run(words)).toEqual(expected)
  })

  it.each([
    ['an unknown command', ['frobnicate'], "unknown command 'frobnicate'; see shop --help"],
    ['a misspelt command', ['stokc'], "unknown command 'stokc'; did you mean stock?"],
    ['a command that is expected', ['stocks'], "unknown command 'stocks'; use stock, or /stock of the API"],
    ['a word of a command that is expected', ['stock', 'ship'], "unknown command 'ship'; use /movements of the API"],
    ['a command like a property', ['constructor'], "unknown command 'constructor'; see shop --help"],
    ['a misspelt word of a command', ['stock', 'recieve'], "unknown command 'recieve'; did you mean receive?"],
    ['a misspelt option', ['stock', 'receive', '7', '--kin', 'new'], "unknown option '--kin'; did you mean --kind?"],
    ['an unknown option', ['--frobnicate'], "unknown option '--frobnicate'; see shop serve --help"],
    [
      'a value that begins with -',
      ['stock', 'receive', '-5A'],
      "unknown option '-5A'; put -- in front of a value that begins with -, or see shop stock receive --help",
    ],
    ['-c without a file', ['-c'], "option '-c, --config <file>' argument missing; see shop --help"],
    ['a missing argument', ['stock', 'receive'], "missing required argument 'id'; see shop stock receive --help"],
    [
      'a choice that does not exist',
      ['stock', 'receive', '7', '--kind', 'x'],
      "option '--kind <kind>' argument 'x' is invalid. Allowed choices are new, returned; see shop stock receive --help",
    ],
    [
      'one argument too many',
      ['stock', 'list', 'x'],
      "too many arguments for 'list'. Expected 0 arguments but got 1: x; see shop stock list --help",
    ],
    ['control characters', ['\u001b[2J'], "unknown command '\\u{1b}[2J'; see shop --help"],
  ])('refuses %s on one line', async (_case, words, problem) => {
    expect(await run(words)).toEqual(refused(2, problem))
  })

  it.each([
    ['an error', new Error('broken\nin two'), 'broken in two'],
    [
      'a source that does not parse, with its file and line',
      withStack(
        new SyntaxError('Expression expected'),
        '/repo/a.ts:2\nconst x = ;\n\nSyntaxError: Expression expected',
      ),
      '/repo/a.ts:2: SyntaxError: Expression expected',
    ],
    [
      'a mistake in a source, with its file and line',
      withStack(new TypeError('x is undefined'), 'TypeError: x is undefined\n    at f (file:///repo/a.ts:3:9)'),
      '/repo/a.ts:3: TypeError: x is undefined',
    ],
    [
      'a failed call, which is no mistake in a source',
      withStack(new TypeError('fetch failed', { cause: 'refused' }), 'TypeError\n    at f (file:///repo/a.ts:3:9)'),
      'fetch failed',
    ],
    [
      'text that is no JSON',
      withStack(new SyntaxError('no JSON'), 'SyntaxError: no JSON\n    at JSON.parse'),
      'no JSON',
    ],
    ['a missing file', Object.assign(new Error('ENOENT: …'), { code: 'ENOENT', path: 'a.csv' }), 'a.csv: no such file'],
    [
      'another problem with a file',
      Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE', path: 'a.csv' }),
      'EMFILE: too many open files',
    ],
    ['a failure that the program explains', new RangeError('sold out'), 'shop: receive stock first'],
    ['all that is wrong with settings', new ConfigError(['A is wrong', 'B too']), 'config: A is wrong\nconfig: B too'],
    [
      'advice about settings',
      new ConfigError(['A is required'], 'hint: set it'),
      'config: A is required\nhint: set it',
    ],
  ])('reports %s without a stack', async (_case, failure, problem) => {
    expect(await run(['fail'], failure)).toEqual(refused(1, problem))
  })

  it('lists all commands for --help, for help, and with the exit status 0', async () => {
    const out = `Usage: shop [options] [command]

A shop.

Options:
  -c, --config <file>  read the settings from this env file instead of .env
  -V, --version        output the version number
  -h, --help           display help for command

Commands:
  serve                run the HTTP service (also without a command)
  stock                stock of the shop
  fail                 fails
  completion <shell>   Generate shell completion scripts
  help [command]       display help for command
`
    for (const words of [['--help'], ['-c', 'x', '-h'], ['help']])
      expect(await run(words)).toEqual({ status: 0, out, err: '', calls: [] })
  })

  it.each([
    [
      ['complete', '--', 'st'],
      ['stock\tstock of the shop', ':4'],
    ],
    [
      ['complete', '--', 'stock', ''],
      ['list\t', 'receive\t', 'help\tdisplay help for command', ':4'],
    ],
    [
      ['complete', '--', 'stock', 'receive', '7', '--kind', ''],
      ['new\t', 'returned\t', ':4'],
    ],
    [['complete', '--', 'nothing', 'like', 'it', ''], [':4']],
  ])('answers a shell that asks what may follow: %j', async (words, lines) => {
    const log = vi.spyOn(console, 'log').mockReturnValue()
    onTestFinished(() => log.mockRestore())
    expect(await run(words)).toEqual(ran())
    expect(log.mock.calls).toEqual(lines.map((line) => [line]))
  })

  it.each([
    ['bash', 'complete -F __shop_complete shop'],
    ['zsh', '#compdef shop'],
    ['fish', 'complete -c shop'],
  ])('prints a completion script that %s reads, with the line %s', async (shell, line) => {
    const log = vi.spyOn(console, 'log').mockReturnValue()
    onTestFinished(() => log.mockRestore())
    expect(await run(['completion', shell])).toEqual(ran())
    expect(log.mock.calls.join()).toContain(line)
  })
})
