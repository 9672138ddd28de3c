import { describe, expect, it } from 'vitest'
import { parseCommand, UsageError } from './command.ts'

const served = {
  run: 'serve',
  prefixes: [],
  dir: '.',
  app: undefined,
  form: 'node',
  address: { host: '127.0.0.1', port: 8_000 },
  watch: false,
  quiet: false,
}

describe('parseCommand', () => {
  it.each([
    [[], served],
    [['--prefix=a', '-P', 'b', '--controller-prefix', 'c'], { ...served, prefixes: ['a', 'b', 'c'] }],
    [
      ['-H', 'localhost:1', '-D', 'src', '--watch', '--quiet'],
      { ...served, address: { host: 'localhost', port: 1 }, dir: 'src', watch: true, quiet: true },
    ],
    [['--app', 'a:b', '--interface', 'fetch'], { ...served, app: 'a:b', form: 'fetch' }],
    [['--routes'], { ...served, run: 'routes' }],
    [['--openapi'], { ...served, run: 'openapi', file: undefined }],
    [['--openapi', '--prefix', 'a'], { ...served, run: 'openapi', file: undefined, prefixes: ['a'] }],
    [['--openapi', 'api.json'], { ...served, run: 'openapi', file: 'api.json' }],
    [['--openapi=api.json'], { ...served, run: 'openapi', file: 'api.json' }],
    [['-v'], { run: 'version' }],
    [['--help', '--version'], { run: 'help' }],
    [['build-map', 'a', 'b.ts'], { run: 'build-map', folder: 'a', file: 'b.ts' }],
  ])('parses the arguments %j as the command %j', (args, command) => {
    expect(parseCommand(args, () => undefined)).toEqual(command)
  })

  it('prefers an option to the environment', () => {
    expect(parseCommand([], () => ':1')).toEqual({
      address: { port: 1, host: '127.0.0.1' },
      run: 'serve',
      prefixes: [],
      dir: '.',
      form: 'node',
      watch: false,
      quiet: false,
    })
    expect(parseCommand(['--host', ':2'], () => ':1')).toEqual({
      address: { port: 2, host: '127.0.0.1' },
      run: 'serve',
      prefixes: [],
      dir: '.',
      form: 'node',
      watch: false,
      quiet: false,
    })
  })

  it.each([
    ['an unknown option', ['--nope'], /^unknown option '--nope'; see endpoints --help$/],
    ['an unknown command', ['nope'], /^unknown command 'nope'; see endpoints --help$/],
    ['a map without a file', ['build-map', 'a'], /^build-map takes a folder and a file; see endpoints --help$/],
    [
      'a map with two files',
      ['build-map', 'a', 'b', 'c'],
      /^build-map takes a folder and a file; see endpoints --help$/,
    ],
    ['a wrong host', ['--host', 'a:b'], /^a:b is not host:port$/],
    ['a port beyond the last', ['--host', ':65536'], /^:65536 is not host:port$/],
    ['an unknown interface', ['--interface', 'wsgi'], /^--interface is node or fetch, not wsgi$/],
    ['both --app and --prefix', ['--app', 'a', '--prefix', 'b'], /^--app and --prefix exclude each other$/],
    ['--watch with --app', ['--app', 'a', '--watch'], /^--watch works with --prefix only$/],
    ['--prefix without a value', ['--prefix'], /^Option '-P, --prefix <value>' argument missing$/],
  ])('refuses %s', (_name, args, message) => {
    expect(() => parseCommand(args, () => undefined)).toThrow(UsageError)
    expect(() => parseCommand(args, () => undefined)).toThrow(message)
  })

  it.each([
    [['--contoller-prefix', 'a'], "unknown option '--contoller-prefix'; did you mean --controller-prefix?"],
    [['--wacth'], "unknown option '--wacth'; did you mean --watch?"],
    [['-x'], "unknown option '-x'; see endpoints --help"],
    [['buildmap', 'a', 'b'], "unknown command 'buildmap'; did you mean build-map?"],
  ])('says what %j may mean', (args, message) => {
    expect(() => parseCommand(args, () => undefined)).toThrow(new UsageError(message))
  })

  it('takes the host of the file that --config names', () => {
    const address = { host: '127.0.0.1', port: 7 }
    const readHost = (config: string | undefined) => (config === 'a.env' ? ':7' : undefined)
    expect(parseCommand(['-c', 'a.env'], readHost)).toEqual({ ...served, address })
    expect(parseCommand(['--config=a.env', '--host', ':8'], readHost)).toEqual({
      ...served,
      address: { ...address, port: 8 },
    })
  })
})
