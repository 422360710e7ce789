import { onContentUpdated, type Theme } from 'vitepress'
import theme from 'vitepress/theme-without-fonts'
import { restoreLanguage, shareLanguage } from './code-groups.ts'
import './style.css'

export default {
  extends: theme,
  setup: () => {
    if (import.meta.env.SSR) return
    shareLanguage()
    onContentUpdated(restoreLanguage)
  },
} satisfies Theme
