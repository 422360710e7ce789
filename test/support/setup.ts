import { printLoggedErrors, printOpenPages } from './logged-errors.ts'

// For each file: `beforeEach` of a module that files share would be for the first of them only.
printLoggedErrors()
printOpenPages()
