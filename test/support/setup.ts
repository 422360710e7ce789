import { printLoggedErrors } from './logged-errors.ts'
import { printOpenPages } from './open-pages.ts'

// Called for each test file. A hook at the top of a module would belong to the first file that imports the module.
printLoggedErrors()
printOpenPages()
