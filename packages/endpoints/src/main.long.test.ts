import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { programEnvironment } from '../test/program-environment.ts'
import { controllers, framework, moduleFolder, portOf } from '../test/start.ts'
import { errorBody } from '../test/whole-answers.ts'

const main = join(import.meta.dirname, 'main.ts')
const environment = programEnvironment()

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function start(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...environment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function finish(child: ChildProcess): Promise<Ended> {
  const chunks = { out: '', err: '' }
  child.stdout?.on('data', (data) => {
    chunks.out += data
  })
  child.stderr?.on('data', (data) => {
    chunks.err += data
  })
  const [code] = await once(child, 'close')
  return { code, ...chunks }
}

const run = (cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  finish(start(cwd, args, env))

/** Returns the first line of a program's output that matches the pattern. */
function printed(child: ChildProcess, pattern: RegExp, stream: 'stdout' | 'stderr' = 'stdout'): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child[stream]?.on('data', (data) => {
      text += data
      const found = pattern.exec(text)
      if (found) resolve(found[1] ?? found[0])
    })
    child.once('close', () => reject(new Error(`it ended after: ${text}`)))
  })
}

const listening = (child: ChildProcess): Promise<string> => printed(child, /^Listening on (.*)$/m)

async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
  const closed = once(child, 'close')
  child.kill(signal)
  return (await closed)[0]
}

const quickStart = controllers(['Default', 'Foo'])

describe('serving', () => {
  it.each([
    ['-P, -H, -D and IPv6', ['-P', 'controllers', '-H', '[::1]:0', '-D', '.'], {}],
    ['an env file, over which the environment wins', ['-c', 'settings.env'], { ENDPOINTS_HOST: ':0' }],
    ['--prefix and fetch', ['--prefix=controllers', '--host=localhost:0', '--interface', 'fetch'], {}],
  ])('serves by %s until SIGTERM', async (_name, args, env) => {
    using folder = moduleFolder({
      'controllers.ts': quickStart,
      'settings.env': 'ENDPOINTS_PREFIX=controllers\nENDPOINTS_HOST=nowhere\n',
    })
    const child = start(folder.path, args, env)
    const url = await listening(child)
    expect(url).toMatch(/^http:\/\/(localhost|127\.0\.0\.1|\[::1\]):[1-9]\d*$/)
    expect(await (await fetch(`${url}/foo`)).text()).toBe('"Foo"')
    const refused = await fetch(`${url}/foo`, { method: 'POST', body: 'x' })
    expect([refused.status, await refused.json()]).toEqual([
      405,
      errorBody(405, 'NOT_ALLOWED', 'This URL does not take this method'),
    ])
    expect(await stop(child)).toBe(0)
  })

  it.each([['SIGINT'], ['SIGTERM']] as const)('finishes what was begun before %s ends it', async (signal) => {
    const slow = `import { Controller } from ${JSON.stringify(framework)}
      export class Default extends Controller {
        async GET() {
          console.log('begun')
          await new Promise((resolve) => process.once('${signal}', () => setImmediate(resolve)))
          return 'finished'
        }
      }`
    using folder = moduleFolder({ 'controllers.ts': slow })
    const child = start(folder.path, ['--host', '0'])
    const url = await listening(child)
    const begun = printed(child, /begun/)
    const answer = fetch(url)
    await begun
    const ended = stop(child, signal)
    expect(await (await answer).text()).toBe('"finished"')
    expect(await ended).toBe(0)
  })

  it('prints a line for each answer, without its query, unless --quiet is set', async () => {
    // With --quiet, the program does not print its port. This code prints it instead.
    const telling = `import { Server } from 'node:net'
      const { listen } = Server.prototype
      Server.prototype.listen = function (...args) {
        return listen.apply(this, args).once('listening', () => console.error('port ' + this.address().port))
      }`
    using folder = moduleFolder({ 'controllers.ts': `${quickStart}${telling}` })
    for (const [args, line] of [
      [[], /^GET \/foo 200 \d+ ms\nGET \/no%20where 404 \d+ ms\n$/m],
      [['--quiet'], undefined],
    ] as const) {
      const child = start(folder.path, ['--host', '127.0.0.1:0', ...args])
      const port = printed(child, /^port (\d+)$/m, 'stderr')
      let out = ''
      child.stdout?.on('data', (data) => {
        out += data
      })
      const url = `http://127.0.0.1:${await port}`
      expect((await fetch(`${url}/foo`)).status).toBe(200)
      const missing = await fetch(`${url}/no%20where?token=secret`)
      expect([missing.status, await missing.json()]).toEqual([
        404,
        errorBody(404, 'RESOURCE_NOT_FOUND', 'There is nothing at this URL'),
      ])
      expect(await stop(child)).toBe(0)
      if (line === undefined) expect(out).toBe('')
      else expect(out).toMatch(line)
    }
  })

  it('serves an application that a module exports, in either form', async () => {
    const app = `import { Application, Controller } from ${JSON.stringify(framework)}
      class Default extends Controller { GET() { return 'own' } }
      export const app = new Application({ modules: { index: { Default } } })
      export default { fetch: (request) => new Response('fetched ' + new URL(request.url).pathname) }
      export const failing = () => { throw new Error('a fault') }
      export const value = 1`
    using folder = moduleFolder({ 'src/app.ts': app })
    for (const [args, body] of [
      [['--app', 'src/app.ts:app'], '"own"'],
      [['--app', 'src/app'], 'fetched /x'],
    ] as const) {
      const child = start(folder.path, [...args, '--host', '0'])
      const url = await listening(child)
      expect(await (await fetch(body === '"own"' ? url : `${url}/x`)).text()).toBe(body)
      await stop(child)
    }
    const child = start(folder.path, ['--app', 'src/app:failing', '--host', '0'])
    const fault = printed(child, /GET \/ failed Error: a fault/, 'stderr')
    const failed = await fetch(await listening(child))
    expect([failed.status, await failed.text()]).toEqual([500, ''])
    await fault
    await stop(child)
    expect(await run(folder.path, ['--app', 'src/app:value'])).toEqual({
      code: 1,
      err: expect.stringContaining('exports no application'),
      out: '',
    })
    expect(await run(folder.path, ['--app', 'src/app', '--routes'])).toEqual({
      code: 1,
      out: '',
      err: 'endpoints: --app does not name an Application\n',
    })
  })
})

describe('watching', () => {
  it('keeps the old table while an edit is broken, and reloads imports of a controller', async () => {
    const controller = (answer: string) => `import { Controller } from ${JSON.stringify(framework)}
      import { word } from './_word.ts'
      export class Default extends Controller { GET() { return ${answer} } }`
    using folder = moduleFolder({
      'controllers/index.ts': controller('word'),
      'controllers/_word.ts': 'export const word = "one"',
    })
    const child = start(folder.path, ['--host', '0', '--watch'], { NODE_ENV: 'development' })
    const url = await listening(child)
    const answered = async (expected: string) => {
      // Poll, because the file system may report a change late.
      for (let body = ''; body !== expected; ) body = await (await fetch(url)).text()
    }
    await answered('"one"')
    const failed = printed(child, /stay as they were/, 'stderr')
    writeFileSync(join(folder.path, 'controllers/index.ts'), 'this is no module')
    await failed
    await answered('"one"')
    writeFileSync(join(folder.path, 'controllers/_word.ts'), 'export const word = "two"')
    writeFileSync(join(folder.path, 'controllers/index.ts'), controller('word'))
    await answered('"two"')
    expect(await stop(child)).toBe(0)
  })

  it('sees every save of a single file, in place or by renaming', async () => {
    using folder = moduleFolder({ 'controllers.ts': controllers(['Default'], 'one'), 'notes.txt': '' })
    const file = join(folder.path, 'controllers.ts')
    const child = start(folder.path, ['--host', '0', '--watch'], { NODE_ENV: 'development' })
    const url = await listening(child)
    for (const answer of ['two', 'three', 'four']) {
      writeFileSync(`${file}~`, controllers(['Default'], answer))
      renameSync(`${file}~`, file)
      for (let body = ''; body !== JSON.stringify(answer); ) body = await (await fetch(url)).text()
    }
    expect(await stop(child)).toBe(0)
  })

  it('ends the program with 1 in production', async () => {
    using folder = moduleFolder({ 'controllers.ts': quickStart })
    const ended = await run(folder.path, ['--watch'], { NODE_ENV: 'production' })
    expect(ended).toEqual({ code: 1, err: expect.stringContaining('watch is for development'), out: '' })
  })
})

describe('printing', () => {
  it('prints routes, the document, help and version', async () => {
    using folder = moduleFolder({
      'controllers.ts': quickStart,
      'package.json': '{"name":"shop","version":"3.2.1","type":"module"}',
    })
    const [routes, printedDocument, written, help, version] = await Promise.all([
      run(folder.path, ['--routes']),
      run(folder.path, ['--openapi']),
      run(folder.path, ['--openapi', 'api.json', '--quiet']),
      run(folder.path, ['--help']),
      run(folder.path, ['-v']),
    ])
    expect(routes.out).toMatch(/^GET {2}\/ +Default\.GET {2}.*controllers\.ts\nGET {2}\/foo +Foo\.GET/)
    expect(JSON.parse(printedDocument.out).info).toEqual({ title: 'shop', version: '3.2.1' })
    expect(written).toEqual({ code: 0, out: '', err: '' })
    expect(readFileSync(join(folder.path, 'api.json'), 'utf8')).toBe(printedDocument.out)
    expect(help.out).toContain('Usage: endpoints')
    expect(version.out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('marks optional and repeatable parts of a URL', async () => {
    using folder = moduleFolder({
      'controllers.ts': `import { Controller } from ${JSON.stringify(framework)}
        export class Files extends Controller {
          GET(folder: string, name = 'index') { return [folder, name] }
          PUT(folder: string, ...parts: string[]) { return [folder, parts] }
        }`,
    })
    const { out } = await run(folder.path, ['--routes'])
    expect(out).toMatch(
      /^GET {2}\/files\/\{folder\}\/\{name\?\} +Files\.GET .*\nPUT {2}\/files\/\{folder\}\/\{parts\*\} /,
    )
  })

  it('prints a module map with the same URLs', async () => {
    using folder = moduleFolder({
      'controllers/index.ts': quickStart,
      'controllers/a/b_c.ts': quickStart,
      'src/x.txt': '',
    })
    expect(await run(folder.path, ['build-map', 'controllers', 'src/map.ts'])).toEqual({
      code: 0,
      out: 'src/map.ts: 2 modules\n',
      err: '',
    })
    const { modules } = await import(join(folder.path, 'src/map.ts'))
    expect(Object.keys(modules)).toEqual(['a/b_c', 'index'])
  })
})

describe('refusing', () => {
  it.each([
    // `command.test.ts` tests the other kinds of wrong usage.
    ['an unknown option', ['--nope'], 2],
    ['a prefix that leads nowhere', ['--prefix', 'nope'], 1],
    ['a prefix outside the folder', ['--prefix', '../controllers'], 1],
    ['a missing env file', ['--config', 'none.env'], 1],
    ['a map of nothing', ['build-map', 'nope', 'map.ts'], 1],
  ])('refuses %s', async (_name, args, code) => {
    using folder = moduleFolder({ 'dir/controllers.ts': quickStart, 'controllers.ts': quickStart })
    const ended = await run(join(folder.path, 'dir'), args)
    expect(ended).toEqual({ code, out: '', err: expect.any(String) })
    expect(ended.err).toMatch(/^endpoints: .+\n$/)
    expect(existsSync(join(folder.path, 'dir/map.ts'))).toBe(false)
  })

  it('refuses a port in use', async () => {
    using folder = moduleFolder({ 'controllers.ts': quickStart })
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const port = portOf(taken)
    const ended = await run(folder.path, ['--host', `127.0.0.1:${port}`])
    expect(ended).toEqual({ code: 1, err: expect.stringContaining('EADDRINUSE'), out: '' })
    taken.close()
  })
})
