import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { Application, type ApplicationOptions, accepts, Controller } from '../src/endpoints.ts'
import { controllers, moduleFolder } from './module-folder.ts'
import { errorBody } from './whole-answers.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

interface Started {
  readonly urls: readonly string[]
  readonly warnings: readonly string[]
}

async function start(options: ApplicationOptions): Promise<Started> {
  const warnings: string[] = []
  const log = { warn: (message: string) => void warnings.push(message), error: () => {} }
  const app = await new Application({ log, ...options }).ready()
  return { urls: app.routes().map(({ pattern }) => pattern), warnings }
}

const startIn = (dir: string, controllerPrefix?: ApplicationOptions['controllerPrefix']): Promise<Started> =>
  start({ dir, ...(controllerPrefix === undefined ? {} : { controllerPrefix }) })

const one = controllers(['Default'])

describe('prefixes', () => {
  it.each([
    ['controllers', 'a folder'],
    ['./controllers', 'a folder'],
    ['src/api', 'a file without its extension'],
    ['src/api.ts', 'a file'],
    ['src.api', 'dots for separators'],
  ])('%s names %s', async (prefix) => {
    using folder = moduleFolder({ 'controllers/foo.ts': one, 'src/api.ts': controllers(['Default', 'Foo']) })
    const { urls } = await startIn(folder.path, prefix)
    expect(urls).toEqual(prefix.includes('api') ? ['/', '/foo'] : ['/foo'])
  })

  it.each([
    ['nope', 'there is no folder or module nope'],
    ['../other', 'leads out of'],
    ['both', 'is ambiguous'],
    ['data.json', 'there is no folder or module'],
    ['linked', 'leads out of'],
  ])('%s is refused: %s', async (prefix, message) => {
    using folder = moduleFolder({
      'dir/both/index.ts': one,
      'dir/both.ts': one,
      'dir/data.json': '{}',
      'other/index.ts': one,
    })
    symlinkSync(join(folder.path, 'other'), join(folder.path, 'dir/linked'))
    await expect(startIn(join(folder.path, 'dir'), prefix)).rejects.toThrow(message)
  })

  it('may be absolute or a file URL, in code', async () => {
    using folder = moduleFolder({ 'elsewhere/foo.ts': one })
    const path = join(folder.path, 'elsewhere')
    expect(await startIn('/', path)).toEqual({ urls: ['/foo'], warnings: [] })
    expect(await startIn('/', pathToFileURL(path))).toEqual({ urls: ['/foo'], warnings: [] })
  })

  it('are merged class by class: the earlier wins, with a warning', async () => {
    using folder = moduleFolder({
      'a/index.ts': controllers(['Default', 'Foo'], 'a'),
      'b/index.ts': controllers(['Default', 'Bar'], 'b'),
      'b/sub.ts': one,
    })
    const warn = vi.fn()
    const app = await new Application({
      dir: folder.path,
      controllerPrefix: ['a', 'b'],
      log: { warn, error: vi.fn() },
    }).ready()
    expect(app.routes().map(({ pattern }) => pattern)).toEqual(['/', '/bar', '/foo', '/sub'])
    expect(await (await app.inject({ path: '/' })).json()).toBe('a')
    expect(warn.mock.calls).toEqual([
      [
        expect.stringMatching(
          /Default of .*a\/index\.ts and Default of .*b\/index\.ts have one URL; the first answers/,
        ),
      ],
    ])
  })

  it('come from code, then the environment, then the folder controllers', async () => {
    using folder = moduleFolder({
      'a.ts': controllers(['A']),
      'b.ts': controllers(['B']),
      'c.ts': controllers(['C']),
      'controllers.ts': controllers(['D']),
    })
    expect(await startIn(folder.path)).toEqual({ urls: ['/d'], warnings: [] })
    vi.stubEnv('ENDPOINTS_PREFIX_1', 'c')
    vi.stubEnv('ENDPOINTS_PREFIX_3', 'nope')
    expect(await startIn(folder.path)).toEqual({ urls: ['/c'], warnings: [] })
    vi.stubEnv('ENDPOINTS_PREFIX', 'a:b')
    expect(await startIn(folder.path)).toEqual({ urls: ['/a', '/b', '/c'], warnings: [] })
    expect(await startIn(folder.path, 'b')).toEqual({ urls: ['/b'], warnings: [] })
  })

  it('are refused when they lead to no module', async () => {
    using folder = moduleFolder({})
    await expect(startIn(folder.path)).rejects.toThrow('there are no controllers')
  })
})

describe('modules', () => {
  it('are files by name; index is the module of its folder', async () => {
    using folder = moduleFolder({
      'controllers/index.ts': one,
      'controllers/foo.mts': one,
      'controllers/fooBar.js': one,
      'controllers/deep/er/est.mjs': one,
      'controllers/foo/index_.ts': one,
      'controllers/default.ts': one,
      'controllers/post.ts': one,
      'controllers/README.md': '',
      'controllers/data/[x].json': '',
    })
    expect(await startIn(folder.path)).toEqual({
      urls: ['/', '/deep/er/est', '/default', '/foo', '/foo-bar', '/foo/index-', '/post'],
      warnings: [],
    })
  })

  it('are not type declarations, tests, hidden or installed files', async () => {
    const broken = 'this is no module'
    using folder = moduleFolder({
      'controllers/foo.ts': one,
      'controllers/foo.d.ts': broken,
      'controllers/foo.test.ts': broken,
      'controllers/foo.spec.js': broken,
      'controllers/foo.test.data.ts': broken,
      'controllers/_base.ts': broken,
      'controllers/.hidden.ts': broken,
      'controllers/node_modules/x/index.js': broken,
      'controllers/_private/foo.ts': broken,
    })
    expect(await startIn(folder.path)).toEqual({ urls: ['/foo'], warnings: [] })
  })

  it.each([
    ['a file and an index', { 'foo.ts': one, 'foo/index.ts': one }, 'are both /foo'],
    ['two extensions', { 'foo.ts': one, 'foo.js': one }, 'are both /foo'],
    ['two spellings', { 'foo_bar.ts': one, 'fooBar.ts': one }, 'are both /foo-bar'],
    ['a name with brackets', { '[id].ts': one }, 'a name may hold'],
    ['a folder with a space', { 'a b/foo.ts': one }, 'a name may hold'],
    ['what cannot be imported', { 'foo.ts': 'import "./nope.ts"' }, 'foo.ts cannot be imported'],
    ['what throws', { 'foo.ts': 'throw new Error("at once")' }, 'foo.ts cannot be imported: at once'],
  ])('start fails for %s', async (_name, files, message) => {
    using folder = moduleFolder(
      Object.fromEntries(Object.entries(files).map(([name, text]) => [`controllers/${name}`, text])),
    )
    await expect(startIn(folder.path)).rejects.toThrow(message)
  })

  it('may be links inside the prefix', async () => {
    using folder = moduleFolder({ 'controllers/foo.ts': one, 'controllers/a/b.ts': one, 'outside.ts': one })
    const link = (to: string, name: string) =>
      symlinkSync(join(folder.path, to), join(folder.path, 'controllers', name))
    link('controllers/foo.ts', 'bar.ts')
    link('gone.md', 'README.md')
    expect(await startIn(folder.path)).toEqual({ urls: ['/a/b', '/bar', '/foo'], warnings: [] })
    link('outside.ts', 'out.ts')
    await expect(startIn(folder.path)).rejects.toThrow('leads out of')
  })

  it('are refused when links form a circle', async () => {
    using folder = moduleFolder({ 'controllers/a/b.ts': one })
    symlinkSync(join(folder.path, 'controllers'), join(folder.path, 'controllers/a/again'))
    await expect(startIn(folder.path)).rejects.toThrow('is a link to a folder that it is in')
  })
})

class Foo extends Controller {
  GET() {}
}
const anonymous = () => class extends Foo {}

describe('module maps', () => {
  it('accept modules and functions that load them, with or without ./ and extension', async () => {
    const modules = {
      './index.ts': { Default: anonymous() },
      'foo/bar.js': async () => ({ Foo }),
      fooBar: { default: anonymous() },
    }
    expect(await start({ modules })).toEqual({ urls: ['/', '/foo-bar', '/foo/bar/foo'], warnings: [] })
  })

  it.each([
    ['two of one URL', { foo: {}, './foo.ts': {} }, 'are both /foo'],
    ['a name that no URL should have', { '../foo': {} }, 'a name may hold'],
    ['one that cannot be loaded', { foo: () => Promise.reject(new Error('gone')) }, 'foo cannot be imported: gone'],
  ])('start fails for %s', async (_name, modules, message) => {
    await expect(start({ modules })).rejects.toThrow(message)
  })
})

const index = (exports: object) => start({ modules: { index: exports } })

describe('classes', () => {
  it('answer to the name of their export', async () => {
    const exports = {
      CheBaz: anonymous(),
      HTTPFoo: anonymous(),
      FooBar_txt: anonymous(),
      Default_html: anonymous(),
      Foo_: anonymous(),
    }
    expect(await index(exports)).toEqual({
      urls: ['/che-baz', '/foo', '/foo-bar.txt', '/http-foo', '/index.html'],
      warnings: [],
    })
  })

  it('are controllers, exported and not private', async () => {
    class Hidden extends Foo {
      static override private = true
    }
    class Shown extends Hidden {}
    const exports = {
      Controller,
      BaseController: anonymous(),
      _Foo: anonymous(),
      Hidden,
      Shown,
      Other: class {},
      value: 1,
      helper: () => {},
      nothing: null,
    }
    expect(await index(exports)).toEqual({ urls: ['/shown'], warnings: [] })
  })

  it('may be nested', async () => {
    const Deep = Object.assign(anonymous(), { Er: anonymous(), _Not: anonymous(), NotController: anonymous() })
    const Holder = Object.assign(class {}, { Users: anonymous() })
    expect(await index({ Deep, Holder, default: Object.assign(anonymous(), { Below: anonymous() }) })).toEqual({
      urls: ['/', '/below', '/deep', '/deep/er', '/holder/users'],
      warnings: [],
    })
  })

  it('do not inherit nested classes', async () => {
    const Outer = Object.assign(anonymous(), { Inner: anonymous() })
    expect(await index({ Derived: class extends Outer {} })).toEqual({ urls: ['/derived'], warnings: [] })
  })

  it.each([
    ['default and Default', { default: anonymous(), Default: anonymous() }, 'exports both default and Default'],
    ['two of one name', { FooBar: anonymous(), Foobar_: anonymous(), fooBar: anonymous() }, 'have one URL name'],
    ['two underscores', { Foo_tar_gz: anonymous() }, 'more than one "_"'],
  ])('start fails for %s', async (_name, exports, message) => {
    await expect(index(exports)).rejects.toThrow(message)
  })
})

describe('handlers', () => {
  it('are methods of the class and of its own bases', async () => {
    class Base extends Controller {
      GET() {}
      GET_below() {}
    }
    class Derived extends Base {
      POST_FooBar() {}
      get PUT() {
        return () => {}
      }
      get() {}
      PATCH = () => {}
      DELETE_() {}
      #GET_private() {}
      [Symbol('GET')]() {
        this.#GET_private()
      }
    }
    expect(await index({ Derived })).toEqual({ urls: ['/derived', '/derived/below', '/derived/foo-bar'], warnings: [] })
  })

  it('an accessor hides the method of a base', async () => {
    class Hiding extends Foo {
      POST() {}
    }
    Object.defineProperty(Hiding.prototype, 'GET', { get: () => () => {} })
    const app = await new Application({ modules: { index: { Hiding } } }).ready()
    expect(app.resolve('GET', '/hiding')).toEqual({
      status: 405,
      allow: ['POST', 'OPTIONS'],
      positionals: [],
      route: undefined,
    })
  })

  it('cause a warning when there are none at all', async () => {
    class Controller {}
    class Foreign extends Controller {
      GET() {}
    }
    const warning = 'no module exports a class that derives from the Controller of this package'
    const stray = 'index: Foreign has GET, but does not derive from Controller; nothing answers'
    expect(await index({ Foreign })).toEqual({ urls: [], warnings: [stray, warning] })
  })

  it('cause a warning when a class has none, or has some that are never called', async () => {
    class Empty extends Controller {}
    class Socket extends Foo {
      CONNECT() {}
      TRACE_x() {}
    }
    expect(await index({ Empty, Socket })).toEqual({
      urls: ['/socket'],
      warnings: [
        'index: Empty has no handler, so its URL answers 404',
        'index: Socket.CONNECT is never called',
        'index: Socket.TRACE_x is never called',
      ],
    })
  })

  /** A controller with these static members and methods. */
  const made = (members: object, methods: object) => {
    const controller = class extends Controller {}
    Object.assign(controller, members)
    Object.assign(controller.prototype, methods)
    return controller
  }
  const handler = (): void => {}

  it.each([
    ['two of one URL', made({}, { GET_fooBar: handler, GET_foo_bar: handler }), 'have one URL'],
    [
      'an array pattern',
      made({}, { GET([_a]: string[]) {} }),
      'X.GET has an array pattern among its parameters; declare',
    ],
    ['a bound function', made({}, { GET: handler.bind(null) }), 'has no readable source; declare it'],
    ['a declaration alone', made({ POST: accepts({}) }, { GET: handler }), 'declares POST with accepts, but has no'],
    ['a limit that is none', made({ GET: accepts({ bodyLimit: Number.NaN }) }, { GET: handler }), 'not NaN'],
    ['a typo', made({ GET_staus: accepts({}) }, { GET_status: handler }), 'declares GET_staus'],
    [
      'optional before required',
      made({ GET: accepts({ path: [z.string().optional(), z.string()] }) }, { GET: handler }),
      'has a required positional after an optional one',
    ],
  ])('start fails for %s', async (_name, X, message) => {
    await expect(index({ X })).rejects.toThrow(message)
  })

  it('must be declared when signatures are not read', async () => {
    const options = { modules: { index: { Foo } }, signatures: false }
    await expect(start(options)).rejects.toThrow('Foo.GET is not declared with accepts')
  })

  it('keep the declaration of a base', async () => {
    class Base extends Controller {
      static GET = accepts({ path: [z.string()] })
      GET(_id: string) {}
    }
    class Derived extends Base {
      override GET() {}
    }
    expect(await index({ Derived })).toEqual({ urls: ['/derived/{arg1}'], warnings: [] })
  })
})

describe('clashes', () => {
  class Suffixed extends Controller {
    GET_foo() {}
    GET_bar() {}
    GET_inner() {}
  }
  const modules = {
    index: { Default: Object.assign(Suffixed, { Inner: anonymous() }), Foo, Baz: anonymous() },
    baz: {},
    bar: { Default: anonymous() },
  }

  it('submodule wins over class, class over suffix, each with a warning', async () => {
    expect(await start({ modules })).toEqual({
      urls: ['/bar', '/foo', '/inner'],
      warnings: [
        '/baz: the module hides the class',
        '/foo: the class hides the suffix of a method of Default',
        '/bar: the module hides the suffix of a method of Default',
        '/inner: the class hides the suffix of a method of Default',
      ],
    })
  })

  it('stop the start with strict', async () => {
    await expect(start({ modules, strict: true })).rejects.toThrow('/baz: the module hides the class')
  })
})

describe('options', () => {
  // ASVS 13.4.2
  it.each([[{ exposeErrors: true }], [{ watch: true }]])('%j is refused in production', (options) => {
    vi.stubEnv('NODE_ENV', 'production')
    expect(() => new Application({ modules: {}, ...options })).toThrow('is for development')
  })

  it.each([
    [{ bodyLimit: Number('1 MiB') }, 'bodyLimit must be a number of at least 0, not NaN'],
    [{ trustProxy: -1 }, 'trustProxy must be a number of at least 0, not -1'],
    [{ requestIdHeader: 'x id' }, 'requestIdHeader: x id is not the name of a header'],
  ])('%j is refused', (options, message) => {
    expect(() => new Application({ modules: {}, ...options })).toThrow(message)
  })

  it('returned values are not checked in production', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    class Wrong extends Controller {
      static GET = accepts({ returns: z.string() })
      GET() {
        return 1
      }
    }
    const app = new Application({ modules: { index: { Wrong } } })
    expect((await app.inject({ path: '/wrong' })).status).toBe(200)
  })

  it('a request waits for the start, and gets 500 when the start fails', async () => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const app = new Application({ modules: { index: () => gate.then(() => ({ Foo })) } })
    expect(() => app.routes()).toThrow('await app.ready() first')
    const waiting = app.inject({ path: '/foo' })
    open()
    expect((await waiting).status).toBe(204)
    const error = vi.fn()
    const failing = new Application({
      modules: { index: () => Promise.reject(new Error('no')) },
      log: { warn: vi.fn(), error },
    })
    const failed = await failing.inject({ path: '/foo' })
    expect([failed.status, await failed.json()]).toEqual([
      500,
      errorBody(500, 'SERVER_ERROR', 'An unexpected error occurred'),
    ])
    expect(error).toHaveBeenCalledOnce()
  })
})
