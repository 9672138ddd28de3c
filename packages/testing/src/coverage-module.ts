import { setFlagsFromString } from 'node:v8'
import v8 from '@vitest/coverage-v8'
import { inject } from 'vitest'
import type { CoverageProviderModule, ResolvedCoverageOptions, TestSpecification } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** How many test files no worker has begun yet: one 32-bit integer that the threads of the run share. */
    readonly filesToBegin: SharedArrayBuffer
  }
}

/** Which file is a worker's last one is not told: any of these last ones, and there are never as many workers. */
const LAST_FILES = 16

/**
 * V8 counts in every function that it compiles from the start of coverage on, those of dependencies too, which makes them up to
 * four times as slow. So the busiest dependencies are compiled before that, and whole: V8 would leave a function until its first
 * call, and throw its code away when it rests.
 */
async function compileDependencies(): Promise<void> {
  setFlagsFromString('--no-lazy')
  setFlagsFromString('--no-flush-bytecode')
  await Promise.all([
    import('fast-check'),
    import('fastify'),
    import('kysely'),
    import('nodemailer'),
    import('pg'),
    import('smtp-server'),
    import('uqr'),
    import('zod'),
  ])
}

let compiled: Promise<void> | undefined

const filesToBegin = (): Int32Array => new Int32Array(inject('filesToBegin'))

/**
 * V8's coverage, asked for when a worker comes to its end. vitest asks after each file, for which V8 walks the whole heap of a
 * worker that keeps its modules: 60 ms. V8 goes on counting meanwhile, so that nothing is missed.
 */
const coverageModule: CoverageProviderModule = {
  startCoverage: async (options) => {
    compiled ??= compileDependencies()
    await compiled
    Atomics.sub(filesToBegin(), 0, 1)
    return v8.startCoverage?.(options)
  },
  takeCoverage: (options) => (Atomics.load(filesToBegin(), 0) < LAST_FILES ? v8.takeCoverage?.(options) : undefined),
  stopCoverage: (options) => v8.stopCoverage?.(options),
  getProvider: async () => {
    const { V8CoverageProvider } = await import('@vitest/coverage-v8/dist/provider.js')
    class Provider extends V8CoverageProvider {
      /** Without this the workers would take vitest's own module. */
      override resolveOptions(): ResolvedCoverageOptions {
        return { ...super.resolveOptions(), provider: 'custom' }
      }

      override async onTestRunStart(files: readonly TestSpecification[]): Promise<void> {
        await super.onTestRunStart(files)
        const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
        new Int32Array(shared)[0] = files.length
        this.ctx.getRootProject().provide('filesToBegin', shared)
      }
    }
    return new Provider()
  },
}

export default coverageModule
