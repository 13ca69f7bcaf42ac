;;; hunch.el --- Context for the current file, from the hunchd daemon -*- lexical-binding: t; -*-

;; Author: The hunchd contributors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience
;; URL: https://github.com/hunchd/hunchd
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; hunchd is a local daemon that predicts what you will need next.  `hunch-mode' reports what you open and save;
;; `hunch-context' shows the context of the current file: the files that change with it and their signatures,
;; decisions, recent errors, past work, each with its reason.  `hunch-related' lists the related files.
;;
;;     (hunch-mode 1)
;;     (global-set-key (kbd "C-c h") #'hunch-context)
;;     (global-set-key (kbd "C-c H") #'hunch-related)
;;
;; Nothing here blocks: the daemon may be absent, slow or restarted.

;;; Code:

(require 'hunch-client)
(require 'hunch-signals)
(require 'hunch-view)
(require 'xref)

(defvar hunch--offered nil "Files that were offered as related last.")

(defun hunch--here ()
  "Return the current file, or signal a user error."
  (or (hunch--file)
      (and (derived-mode-p 'hunch-context-mode) hunch--shown-file)
      (user-error "This buffer has no file")))

;;;###autoload
(defun hunch-context (&optional query)
  "Show the context of the current file.
With a prefix argument ask for a QUERY in words, and show what belongs to that."
  (interactive (list (and current-prefix-arg (read-string "What are you about to do? "))))
  (hunch--open-view (hunch--here) query))

(defun hunch--request (file path body show)
  "Send a request of the user about the project of FILE: BODY to PATH.
Call SHOW with the answer; add the project if the daemon does not know it."
  (cl-labels
      ((ask (introduced)
         (hunch--ask-or-start
          "POST" path
          (lambda (failure answer _)
            (cond ((and (eql (hunch--status-of failure) 404) (not introduced))
                   (hunch--introduce file (lambda (trouble) (if trouble (hunch--say trouble) (ask t)))))
                  (failure (hunch--say failure))
                  (t (funcall show answer))))
          :body body)))
    (ask nil)))

(defun hunch--with-related (show)
  "Request the related files; call SHOW with them and their root."
  (let* ((file (hunch--here))
         (root (hunch--project file)))
    (hunch--request
     file "/context/predict"
     `((project . ,root) (file_opened . ,(hunch--relative file)) (k . 10))
     (lambda (answer)
       (if (alist-get 'predicted_files answer)
           (funcall show (alist-get 'predicted_files answer) root)
         (message "hunch: %s" (or (car (alist-get 'degraded answer))
                                  (format "no related files are known for %s" (hunch--relative file)))))))))

(defun hunch--annotation (file)
  "Return the annotation of FILE, a prediction."
  (format "  %3.0f %%  %s" (* 100 (alist-get 'confidence file)) (string-join (alist-get 'reasons file) " · ")))

(defun hunch--choose (files root)
  "Let the user choose among FILES of the project at ROOT; visit the choice."
  (let* ((names (mapcar (lambda (each) (cons (alist-get 'path each) each)) files))
         (table (lambda (string predicate action)
                  (if (eq action 'metadata)
                      `(metadata (category . file) (display-sort-function . identity)
                                 (annotation-function . ,(lambda (name) (hunch--annotation (cdr (assoc name names))))))
                    (complete-with-action action names string predicate))))
         (choice (completing-read "Next file: " table nil t)))
    (when (assoc choice names)
      (hunch--go (expand-file-name choice root) nil nil nil))))

;;;###autoload
(defun hunch-related ()
  "Choose among the related files."
  (interactive)
  (hunch--with-related #'hunch--choose))

(defun hunch--xrefs (files root)
  "Return FILES of the project at ROOT as items of an xref buffer."
  (mapcar (lambda (each)
            (xref-make (string-trim (hunch--annotation each))
                       (xref-make-file-location (expand-file-name (alist-get 'path each) root) 1 0)))
          files))

;;;###autoload
(defun hunch-search (query)
  "Search the code of the project for QUERY, a question in words.
List what answers it in an xref buffer, or go there if it is one place."
  (interactive (list (read-string "Where is … ? ")))
  (let* ((file (hunch--here))
         (root (hunch--project file)))
    (hunch--request
     file "/search"
     `((project . ,root) (query . ,query) (kinds . ["code"]) (k . 20))
     (lambda (answer)
       (let ((xrefs (mapcar (lambda (each) (hunch--found each root)) (alist-get 'results answer))))
         (if xrefs
             (funcall xref-show-xrefs-function (lambda () xrefs)
                      `((window . ,(selected-window)) (display-action . nil)))
           (message "hunch: %s" (or (car (alist-get 'degraded answer)) (format "no code was found for %s" query)))))))))

(defun hunch--found (result root)
  "Return RESULT of a search in the project at ROOT as an item of an xref buffer."
  (let ((source (alist-get 'source result)))
    (xref-make (alist-get 'title result)
               (xref-make-file-location (expand-file-name (alist-get 'path source) root)
                                        (alist-get 'start_line source) 0))))

;;;###autoload
(defun hunch-related-list ()
  "List the related files in an xref buffer, with their reasons."
  (interactive)
  (hunch--with-related
   (lambda (files root)
     (setq hunch--offered (mapcar (lambda (each) (expand-file-name (alist-get 'path each) root)) files))
     (let ((xrefs (hunch--xrefs files root)))
       (funcall xref-show-xrefs-function (lambda () xrefs)
                `((window . ,(selected-window)) (display-action . nil)))))))

(defun hunch--jumped ()
  "Report that a file of the list was visited."
  (when-let ((file (hunch--file)))
    (when (member file hunch--offered)
      (setq hunch--offered nil)
      (hunch--used file))))

(defun hunch-lighter ()
  "Return the mode line text: the number of items for this file.
… while its project is read, ? without a daemon."
  (let ((bundle (and (buffer-file-name) (gethash (buffer-file-name) hunch--kept))))
    (cond (hunch--trouble " Hunch?")
          ((equal (alist-get 'status bundle) "degraded") " Hunch…")
          ((alist-get 'items bundle) (format " Hunch:%d" (length (alist-get 'items bundle))))
          (t " Hunch"))))

(defconst hunch--mode-hooks
  '((hunch--on-sent . hunch--prepare)
    (hunch--on-return . hunch--forget-bundles)
    (window-buffer-change-functions . hunch--follow)
    (window-selection-change-functions . hunch--follow)
    (xref-after-jump-hook . hunch--jumped)))

;;;###autoload
(define-minor-mode hunch-mode
  "Report opened, saved and closed files to the hunchd daemon.
In return what belongs to it is at hand: `hunch-context', `hunch-related'."
  :global t
  :group 'hunch
  :lighter (:eval (hunch-lighter))
  (dolist (each hunch--mode-hooks)
    (if hunch-mode
        (add-hook (car each) (cdr each))
      (remove-hook (car each) (cdr each))))
  (hunch--watch hunch-mode))

(provide 'hunch)
;;; hunch.el ends here
