/** Gives so many random bytes. Every secret of the service is made of them, so that a test can choose it. */
export type RandomBytes = (size: number) => Buffer
