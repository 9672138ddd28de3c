import { defineConfig } from 'vitest/config'

export default defineConfig({
  // The examples of the framework import it as those do who install it.
  resolve: {
    alias: [
      { find: /^@trestle\/endpoints$/, replacement: `${import.meta.dirname}/packages/endpoints/src/endpoints.ts` },
    ],
  },
  test: {
    include: ['{migrations,packages,services,scripts,bench}/**/*.test.ts'],
    globalSetup: ['packages/testing/src/postgres-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Jobs and outboxes are looked for once a second; a machine may be slow besides.
    expect: { poll: { timeout: 15_000 } },
    // Two more than the cores of the smallest machine: many tests wait for a retry, a lock or a process.
    maxWorkers: 4,
    // The files of a worker share their modules: a fresh module graph for each file would take more than half of the time. It is
    // safe because each file has its own database, and no module keeps state: `scripts/layout/module-state.ts` refuses it. Every
    // night CI runs the files and their tests in random order, so one that rests on another is found.
    // Tests start programs. A worker that is a thread shares one process of 2.5 GB with the others, and each fork copies its page tables.
    pool: 'forks',
    isolate: false,
    reporters: process.env.CI ? ['default'] : ['dot'],
    coverage: {
      provider: 'custom',
      customProviderModule: 'packages/testing/src/coverage-module.ts',
      include: ['packages/*/src/**/*.ts', 'services/*/src/**/*.ts', 'migrations/**/*.ts', 'scripts/{*,*/*}.ts'],
      // What runs as a process of its own is tested from outside, where coverage does not look.
      exclude: ['**/*.test.ts', '**/main.ts', 'packages/stack/**', 'packages/testing/**'],
      reporter: ['text-summary'],
      thresholds: { lines: 85, branches: 85 },
    },
  },
})
