import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { watch } from 'chokidar'
import { z } from 'zod'

const Manifest = z.object({ name: z.string(), dependencies: z.record(z.string(), z.string()).default({}) })

/** A change of the branch replaces many files: they count as one change when they come within this time. */
const QUIET_MS = 120

/** The sources of services, watched until `close`. */
export interface SourceWatch {
  close(): Promise<void>
}

/** The sources to watch, and the function that is called when they change. */
export interface SourceWatchOptions {
  /** The checkout. */
  readonly root: string
  /** The names of services. */
  readonly services: readonly string[]
  /** Called for a service with the files that it loads and that have changed: paths below the root. */
  readonly onChange: (service: string, files: readonly string[]) => void
  /** Called when the system refuses a watch, for example because it has no more of them. */
  readonly onProblem: (message: string) => void
}

/**
 * Watches the sources of services. It survives files that are replaced by rename, as editors and git do it: it watches folders,
 * not files.
 */
export async function watchSources({ root, services, ...told }: SourceWatchOptions): Promise<SourceWatch> {
  const folders = new Map(services.map((service) => [service, watchedFolders(root, service)]))
  const watcher = watch(
    [...new Set([...folders.values()].flat())].map((folder) => join(root, folder)),
    {
      ignoreInitial: true,
      ignored: isIgnored,
    },
  )
  const changed = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  const reportChanges = (): void => {
    const files = [...changed].sort()
    changed.clear()
    for (const [service, own] of folders) {
      const loaded = files.filter((file) => own.some((folder) => file.startsWith(`${folder}/`)))
      if (loaded.length > 0) told.onChange(service, loaded)
    }
  }
  watcher.on('all', (_event, path) => {
    const file = relative(root, path).replaceAll(sep, '/')
    if (!isSource(file)) return
    changed.add(file)
    clearTimeout(timer)
    timer = setTimeout(reportChanges, QUIET_MS)
  })
  watcher.on('error', (error) => told.onProblem(`Not every change is noticed: ${error}`))
  await new Promise<void>((resolve) => watcher.once('ready', () => resolve()))
  return {
    close: async () => {
      clearTimeout(timer)
      await watcher.close()
    },
  }
}

/** Files that are no sources need no watch of their own. Folders have one, since sources may appear in them. */
function isIgnored(path: string): boolean {
  if (path.includes(`${sep}node_modules`)) return true
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true && !isSource(path.replaceAll(sep, '/'))
}

/**
 * The folders whose files a service loads: its own sources, and those of the packages of this repository that it depends on,
 * directly or through others.
 *
 * @param root the checkout
 */
function watchedFolders(root: string, service: string): readonly string[] {
  const packages = readPackages(root)
  const found = new Set<string>()
  const visit = (folder: string): void => {
    if (found.has(folder)) return
    found.add(folder)
    const manifest = readManifest(join(root, folder))
    for (const name of Object.keys(manifest?.dependencies ?? {})) {
      const target = packages.get(name)
      if (target !== undefined) visit(target)
    }
  }
  visit(`services/${service}`)
  return [...found].map((folder) => (existsSync(join(root, folder, 'src')) ? `${folder}/src` : folder))
}

/** The folders of the packages that services may depend on, by name. */
function readPackages(root: string): ReadonlyMap<string, string> {
  const below = existsSync(join(root, 'packages')) ? readdirSync(join(root, 'packages')) : []
  const folders = ['migrations', ...below.map((name) => `packages/${name}`)]
  return new Map(
    folders.flatMap((folder) => {
      const manifest = readManifest(join(root, folder))
      return manifest === undefined ? [] : [[manifest.name, folder] as const]
    }),
  )
}

function readManifest(folder: string): z.output<typeof Manifest> | undefined {
  const file = join(folder, 'package.json')
  return existsSync(file) ? Manifest.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined
}

/** Whether a change of a file changes a service: tests and documents do not. */
function isSource(path: string): boolean {
  return /\.(ts|js|json|sql|css|html|svg)$/.test(path) && !/\.test\.ts$|\/(test|node_modules)\//.test(path)
}
