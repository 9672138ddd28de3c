import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { framework, moduleFolder } from '../test/start.ts'
import { errorBody } from '../test/whole-answers.ts'
import { Application, type ApplicationOptions, Controller } from './endpoints.ts'
import { Listeners } from './events.ts'

class Default extends Controller {
  GET() {
    return 'here'
  }
}

const modules = { index: { Default } }

function logged(): { readonly lines: string[]; readonly log: Pick<ApplicationOptions, 'log'> } {
  const lines: string[] = []
  const log = { warn: () => {}, error: (error: unknown, message: string) => void lines.push(`${message}: ${error}`) }
  return { lines, log: { log } }
}

const body = async (app: Application): Promise<string> => (await app.fetch(new Request('http://localhost/'))).text()

describe('listeners', () => {
  it.each([['ready'], ['request'], ['route'], ['close']] as const)(
    'a listener of "%s" that rejects or throws is logged, and the application goes on',
    async (event) => {
      const { lines, log } = logged()
      const app = new Application({ modules, ...log })
      app.on(event, async () => {
        throw new Error('rejected')
      })
      app.on(event, () => {
        throw new Error('thrown')
      })
      expect(await body(app)).toBe('"here"')
      await app.close()
      expect(await body(app)).toBe('"here"')
      expect(lines).toContain(`a listener of "${event}" failed: Error: rejected`)
      expect(lines).toContain(`a listener of "${event}" failed: Error: thrown`)
    },
  )

  it('the process survives a listener that rejects', async () => {
    using folder = moduleFolder({
      'program.ts': `import { Application, type ApplicationOptions, Controller } from ${JSON.stringify(framework)}
        class Default extends Controller { GET() { throw new Error('a fault') } }
        const log = { warn() {}, error() { throw new Error('the disk is full') } }
        const app = new Application({ modules: { index: { Default } }, log })
        for (const event of ['ready', 'request', 'route', 'error', 'close']) app.on(event, async () => { throw new Error(event) })
        await app.fetch(new Request('http://localhost/'))
        await app.close()
        await new Promise((resolve) => setImmediate(resolve))
        console.log('alive')`,
    })
    const child = spawn(process.execPath, [`${folder.path}/program.ts`], { stdio: ['ignore', 'pipe', 'ignore'] })
    let out = ''
    child.stdout.on('data', (data) => {
      out += data
    })
    const [code] = await once(child, 'close')
    expect([code, out]).toEqual([0, 'alive\n'])
  })

  it('a listener that never ends is reported, and the application goes on without it', async () => {
    const lines: string[] = []
    const listeners = new Listeners((error, message) => void lines.push(`${message}: ${error}`))
    listeners.add('close', () => new Promise(() => {}))
    await listeners.emitAndWait('close', 5)
    expect(lines).toEqual([
      'a listener of "close" failed: Error: it has not ended after 5 ms; the application goes on without it',
    ])
  })
})

describe('start and end', () => {
  it('events report the start and the end', async () => {
    const told: string[] = []
    const app = new Application({ modules })
    app.on('ready', () => told.push('ready')).on('close', () => told.push('close'))
    await Promise.all([app.ready(), app.ready()])
    await app.close()
    expect(told).toEqual(['ready', 'close'])
  })

  it('the console is the log when there is no other', async () => {
    const app = new Application({ modules })
    expect(app.log).toEqual({ warn: expect.any(Function), error: expect.any(Function) })
  })

  it('ready() and the first requests wait for the listeners of "ready", which may call the application', async () => {
    const order: string[] = []
    const release = Promise.withResolvers<void>()
    const app = new Application({ modules }).on('ready', async () => {
      order.push(await (await app.inject({ path: '/' })).text(), String(app.routes().length))
      await release.promise
      order.push('prepared')
    })
    const answers = [body(app), app.ready().then(() => 'ready')].map((each) => each.then((text) => order.push(text)))
    // The second request comes while the first request is being answered.
    answers.push(body(app).then((text) => order.push(text)))
    release.resolve()
    await Promise.all(answers)
    expect(order.slice(0, 3)).toEqual(['"here"', '1', 'prepared'])
    expect(order).toHaveLength(6)
  })

  it('a request waits for the start, and gets 500 when the start fails', async () => {
    const gate = Promise.withResolvers<typeof modules.index>()
    const app = new Application({ modules: { index: () => gate.promise } })
    expect(() => app.routes()).toThrow('await app.ready() first')
    const waiting = body(app)
    gate.resolve(modules.index)
    expect(await waiting).toBe('"here"')
    const error = vi.fn()
    const failing = new Application({
      modules: { index: () => Promise.reject(new Error('no')) },
      log: { warn: vi.fn(), error },
    })
    const failed = await failing.inject({ path: '/' })
    expect([failed.status, await failed.json()]).toEqual([
      500,
      errorBody(500, 'SERVER_ERROR', 'An unexpected error occurred'),
    ])
    expect(error).toHaveBeenCalledOnce()
  })

  it('close() waits for the listeners of "close"', async () => {
    const order: string[] = []
    const app = new Application({ modules }).on('close', async () => {
      await new Promise((resolve) => setImmediate(resolve))
      order.push('listener ended')
    })
    await app.close()
    order.push('closed')
    expect(order).toEqual(['listener ended', 'closed'])
  })

  it.each([
    ['loaded before', true],
    ['that the first of them loads', false],
  ])('200: requests after close() are answered by controllers %s', async (_which, isLoaded) => {
    const app = new Application({ modules })
    if (isLoaded) await app.ready()
    await app.close()
    for (let request = 0; request < 2; request += 1) {
      const response = await app.fetch(new Request('http://localhost/'))
      expect([response.status, await response.text()]).toEqual([200, '"here"'])
    }
  })
})
