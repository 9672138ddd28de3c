import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { anonymous, Foo, start } from '../../test/start.ts'
import { Application, accepts, Controller } from '../endpoints.ts'

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

  it('have URLs below that of the class that holds them', async () => {
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

  /** Returns a controller with these static members and methods. */
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
