import { type Browser, chromium } from 'playwright-core'
import { findProgram } from './find-program.ts'

/** Starts Chromium: the program of the PATH, unless another one is named. */
export function startChromium(program = findProgram('chromium') ?? ''): Promise<Browser> {
  // Chromium's sandbox does not work in a container.
  return chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-quic'] })
}
