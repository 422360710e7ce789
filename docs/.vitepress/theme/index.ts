import type { Theme } from 'vitepress'
import theme from 'vitepress/theme-without-fonts'
import './style.css'

export default { extends: theme } satisfies Theme
