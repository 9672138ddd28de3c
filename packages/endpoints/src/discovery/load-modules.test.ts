import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { anonymous, controllers, Foo, moduleFolder, start } from '../../test/start.ts'
import { Application, type ApplicationOptions } from '../endpoints.ts'

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

afterEach(() => {
  vi.unstubAllEnvs()
})

const startIn = (dir: string, controllerPrefix?: ApplicationOptions['controllerPrefix']) =>
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
  it('are files by name, and index for the folder itself', async () => {
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
